"""Which texts models read: chosen, recorded, and named wherever a number is shown."""

import json
from pathlib import Path

import pytest

from maseval.runs import RunFolder
from tests.cli.commandline import maseval

MODELS = ("--agent-model", "scripted/echo", "--user-model", "scripted/echo")
RUN = ("tau2", "run", "--domain", "library", "-n", "1", "--max-steps", "4", *MODELS)
NOT_COMPARABLE = "Not comparable with published numbers"


@pytest.fixture(autouse=True)
def no_texts_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MASEVAL_TAU2_TEXTS", raising=False)
    monkeypatch.setenv("MASEVAL_OFFLINE", "1")
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch, shared_data: Path) -> None:
    monkeypatch.setenv("MASEVAL_TAU2_TEXTS", str(shared_data / "tau2-texts"))


def texts_of(name: str) -> dict[str, str]:
    return RunFolder.read(name).config.values["texts"]


def test_a_number_measured_with_our_texts_is_shown_with_one_line_that_says_so(caplog):
    assert maseval(*RUN, "--dry-run").stdout.count(NOT_COMPARABLE) == 1

    printed = maseval(*RUN, "--output", "mine")

    assert printed.exit_code == 0
    assert NOT_COMPARABLE in caplog.text, "before anything is paid for"
    assert (printed.stdout + printed.stderr).count(NOT_COMPARABLE) == 1
    assert maseval("show", "mine").stdout.count(NOT_COMPARABLE) == 1
    maseval("report", "mine", "--output", "page.html")
    assert NOT_COMPARABLE in Path("page.html").read_text(encoding="utf-8")
    assert texts_of("mine")["name"] == "ours"


def test_without_a_model_nobody_reads_any_texts():
    printed = maseval("tau2", "run", "--domain", "library", "--agent", "gold", "--output", "gold")

    assert NOT_COMPARABLE not in printed.stdout + printed.stderr
    assert "texts" not in RunFolder.read("gold").config.values


NO_MODEL = """\
from maseval import AgentAdapter

class Greeter(AgentAdapter):
    def _run_agent(self, query):
        return "Hello."

def agent(brief):
    return Greeter(None, "greeter")
"""


def test_an_own_agent_without_a_model_and_a_scripted_user_read_no_texts(tmp_path):
    (tmp_path / "mine.py").write_text(NO_MODEL)
    own = ("--agent", "mine.py:agent", "--user", "scripted", "--output", "own")
    printed = maseval("tau2", "run", "--domain", "library", "-n", "1", *own)

    assert printed.exit_code == 0
    assert NOT_COMPARABLE not in printed.stdout + printed.stderr
    assert NOT_COMPARABLE not in maseval("show", "own").stdout
    assert texts_of("own")["name"] == "ours"  # a comparison with a model's run names them


def test_texts_that_are_asked_for_and_cannot_be_had_end_the_run_before_it_begins(tmp_path):
    refused = maseval(*RUN, "--texts", "original", "--output", "r")

    assert refused.exit_code == 1
    assert "`maseval tau2 data texts` fetches them" in refused.stderr
    assert not (tmp_path / "r").exists()
    assert "choose one of: original, ours" in maseval(*RUN, "--texts", "mine").stderr


@pytest.mark.data
def test_a_domain_whose_tools_need_the_texts_is_refused_before_the_run_begins(
    shared_data, tmp_path, monkeypatch
):
    monkeypatch.setenv("MASEVAL_TAU2_DATA", str(shared_data / "tau2-v1.0.1"))
    refused = maseval(
        *("tau2", "run", "--domain", "banking_knowledge@bm25_grep", "--data-version", "1.0.1"),
        *("--agent", "gold", "-n", "1", "--output", "r"),
    )

    assert refused.exit_code == 1
    assert "banking_knowledge needs the original's texts" in refused.stderr
    assert "run `maseval tau2 data texts --data-version 1.0.1` (in Python:" in refused.stderr
    assert "Variants that need nothing but the files" not in refused.stderr
    assert not (tmp_path / "r").exists()


@pytest.mark.data
def test_the_originals_texts_are_used_and_named_where_they_are(here):
    printed = maseval(*RUN, "--output", "theirs")

    assert NOT_COMPARABLE not in printed.stdout + printed.stderr
    texts = texts_of("theirs")
    assert (texts["name"], texts["version"]) == ("original", "0.2.0")
    report = next(iter(RunFolder.read("theirs").reports()))
    assert report["config"]["benchmark"]["tau2"]["texts"] == texts
    certificate = json.loads(maseval("tau2", "certify", "theirs", "--json").stdout)
    assert certificate["rules"]["texts"] == [f"original v0.2.0 ({texts['sha256']})"]
    assert texts["sha256"] in maseval("tau2", "certify", "theirs").stdout
    maseval("report", "theirs", "--output", "page.html")
    with open("page.html", encoding="utf-8") as page:
        assert texts["sha256"] in page.read()


@pytest.mark.data
def test_a_run_is_not_resumed_with_other_texts(here):
    maseval(*RUN, "--texts", "ours", "--output", "r")
    refused = maseval(*RUN, "--output", "r")
    assert refused.exit_code != 0 and "texts" in refused.stderr
    assert maseval(*RUN, "--texts", "ours", "--output", "r").exit_code == 0


@pytest.mark.data
def test_a_comparison_across_texts_begins_by_saying_so(here):
    maseval(*RUN, "--texts", "ours", "--output", "a")
    maseval(*RUN, "--texts", "original", "--output", "b")
    maseval(*RUN, "--texts", "original", "--output", "c")

    across = maseval("compare", "a", "b")
    assert across.exit_code == 0
    assert across.stdout.startswith("Different texts: a ours (")
    first = " ".join(across.stdout.split("┏")[0].split())
    assert "b original v0.2.0 (0f524b729bf8)" in first and "different experiments" in first
    told = maseval("compare", "a", "b", "--json").stdout
    assert json.loads(told)["texts"].startswith("Different texts: ")
    assert "Different texts" not in maseval("compare", "b", "c").stdout
    assert maseval("compare", "a", "b", "c").stdout.startswith("Different texts: a ours (")


@pytest.mark.data
def test_arguments_for_the_model_replace_the_originals_default_and_connections_do_not(here):
    def params(*more):
        maseval(*RUN, "--output", "p", *more)
        report = next(iter(RunFolder.read("p").reports()))
        config = report["config"]
        (agent,) = config["agents"].values()
        return agent["llm_args"], config["user"]["llm_args"]

    given = ("--agent-args", "max_tokens=9", "--user-args", "delay_seconds=0")
    assert params(*given) == ({"max_tokens": 9}, {"temperature": 0.0})
