import json
import time

from maseval.commands.progress import RunProgress
from maseval.commands.publishing import Said, published
from maseval.core.storage.secrets import Secrets
from maseval.runs import Simulation
from maseval.runs.live import LIVE

ONE = Simulation("retail", "7", 0)


def published_once(folder, last=None, secrets=None):
    """What is published first; waits for it."""
    progress = RunProgress(3, None)
    progress.started(ONE)
    with published(folder, progress, last, Secrets.of(secrets or {})):
        while not (folder / LIVE).exists():
            time.sleep(0.01)
        return json.loads((folder / LIVE).read_bytes())


def test_a_running_run_says_what_was_said_last_in_each_simulation(tmp_path):
    found = published_once(tmp_path, lambda one: Said("user", f"about {one.task_id}", 4))

    (flight,) = found["in_flight"]
    assert (flight["domain"], flight["task"], flight["trial"]) == ("retail", "7", 0)
    assert (flight["step"], flight["last"]) == (4, {"role": "user", "text": "about 7"})


def test_what_is_published_is_withdrawn_at_the_end_and_leaves_no_trace(tmp_path):
    published_once(tmp_path)

    assert list(tmp_path.iterdir()) == []


def test_no_secret_of_the_run_is_published_not_even_a_part(tmp_path):
    secret = "open-sesame-and-more"
    words = "x" * 490 + secret
    found = published_once(tmp_path, lambda one: Said("assistant", words, 1), {"api_key": secret})

    assert "open" not in found["in_flight"][0]["last"]["text"]
