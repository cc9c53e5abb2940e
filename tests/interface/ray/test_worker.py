"""Preparation of a worker: code of one's own, keys, and no secret of its machine told."""

import json
import pickle
import subprocess
import sys
from pathlib import Path

from maseval.core.engine.own_modules import copy_modules, own_modules
from maseval.interface.ray.worker import needed_by_workers, own_secrets


def test_modules_of_the_checkout_are_ones_own_and_installed_ones_are_not():
    found = own_modules()

    assert found[__name__] == __file__
    assert not {"json", "pytest", "pydantic", "maseval", "maseval.core.task"} & found.keys()


AGENT = "from sent.inner import helper\ndef agent(): return helper.words()\n"


def files_in(folder: Path) -> dict[str, str]:
    """A module in a package without __init__.py, its neighbour, and one named by an option."""
    texts = {
        "sent.inner.agent": AGENT,
        "sent.inner.helper": "def words(): return 'hm'\n",
        "sent.inner": "",
        "maseval_agent_own": "from sent.inner.agent import agent\n",
    }
    places = {name: folder / f"{number}" / "own.py" for number, name in enumerate(texts)}
    places["sent.inner"] = folder / "package" / "__init__.py"
    for name, place in places.items():
        place.parent.mkdir()
        place.write_text(texts[name])
    return {name: str(place) for name, place in places.items()}


USE = "import maseval_agent_own as own; print(own.agent(), own.__file__)"


def printed(program: str, folder: Path) -> list[str]:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split()


def test_copied_modules_are_imported_by_their_names_on_a_machine_without_them(tmp_path):
    copy_modules(files_in(tmp_path), tmp_path / "sent")

    said, file = printed(USE, tmp_path / "sent")

    assert said == "hm" and file.startswith(str(tmp_path / "sent"))


def test_another_process_of_this_machine_imports_the_very_files(tmp_path):
    modules = files_in(tmp_path)
    find = "from maseval.core.engine.own_modules import find_modules\n"
    program = f"{find}find_modules({modules}, [{str(tmp_path)!r}, '/nowhere'])\n"
    package = "import types, sys; sys.modules['sent'] = types.ModuleType('sent')\n"

    said, file = printed(f"{program}{package}sys.modules['sent'].__path__ = []\n{USE}", tmp_path)

    assert said == "hm" and file == modules["maseval_agent_own"]


def test_keys_and_addresses_travel_and_nothing_else(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost")
    monkeypatch.setenv("SHOE_SIZE", "42")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of this cluster")

    found = needed_by_workers()

    assert found["OPENAI_API_KEY"] == "sk-1" and found["OPENAI_BASE_URL"] == "http://localhost"
    assert not {"SHOE_SIZE", "PATH", "HOME", "RAY_AUTH_TOKEN"} & found.keys()
    assert needed_by_workers(["SHOE_SIZE"])["SHOE_SIZE"] == "42"


def test_the_secrets_of_a_machine_are_those_that_were_not_sent_to_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-driver")
    monkeypatch.setenv("NODE_API_KEY", 'sk-"of"-the-nöde')

    own = own_secrets({"OPENAI_API_KEY": "sk-of-the-driver"})
    arguments = json.dumps({"key": 'sk-"of"-the-nöde'})
    report = {"answer": 'sk-"of"-the-nöde, sk-of-the-driver', "arguments": arguments}

    assert all(own.are_in(pickle.dumps([each], 5)) for each in report.values())
    assert not own.are_in(pickle.dumps(["sk-of-the-driver"], 5))
    assert own.removed_from(report) == {
        "answer": "<redacted>, sk-of-the-driver",
        "arguments": '{"key": "<redacted>"}',
    }


def test_a_key_that_is_empty_or_short_is_nowhere(monkeypatch):
    monkeypatch.setenv("NODE_API_KEY", "")
    monkeypatch.setenv("OTHER_API_KEY", "ab")

    assert not own_secrets({}).are_in(pickle.dumps(["drab"], 5))
