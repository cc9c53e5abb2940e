"""A judge is asked about a run: what it says is kept, shown with its error, and paid for once."""

import json
import re
import shutil
import signal
import time
from pathlib import Path

import pytest

from maseval import commands
from maseval.app.results.judged import RunJudgements
from maseval.benchmark.tau2.app.judging.requests import judge_request
from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge_record import Judgement, JudgeRecord, record_path
from maseval.core.provider_errors import AuthenticationError
from maseval.core.scripted import ScriptedModelAdapter
from maseval.runs import RunFolder
from maseval.runs.config_file import LOG
from maseval.testing import EVIDENCE_FAULTS, ScriptedJudge
from maseval.testing.faulty_judge import UNANSWERED, UNREADABLE, WITHHELD
from tests.app.judging.library import write_pairs
from tests.cli.commandline import ended, maseval, started
from tests.noisy_runs import noisy_run
from tests.report.reading import index_of


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return noisy_run(tmp_path_factory.mktemp("asked") / "run", 0.1).folder


@pytest.fixture
def run(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "run")


def writes(text: str) -> int | None:
    """Return the message of the first renewal or hold; the judges call that a breach."""
    found = re.search(r"^\[(\d+)\] agent calls (renew_loan|place_hold)", text, re.M)
    return int(found[1]) if found else None


def lines_of(run: Path) -> list[Judgement]:
    return JudgeRecord(record_path(run)).lines()


def test_what_the_judge_claims_is_kept_and_shown_with_its_quotes(run, tmp_path):
    model = ScriptedJudge(writes)
    found = commands.judge.ask(run, model)
    flagged = found.judged.simulations("flagged")
    assert found.counts == {"flagged": len(flagged), "clear": 24 - len(flagged), "undecided": 0}
    assert flagged and found.weights == {"act": len(flagged)}

    one = flagged[0]
    for command in ("show", "explain"):
        words = maseval(command, run, one.task_id, one.trial).stdout
        assert "Judged by scripted-judge (not measured)" in words
        assert "agent calls" in words.partition("Judged by")[2]
    claim = found.judged.judgements[one].answer["claims"][0]
    finding = next(e for e in commands.show(run).findings[one] if e.source == "judge")
    assert (finding.grade, finding.message) == ("judged", claim["message"])

    pairs = write_pairs(tmp_path / "pairs.jsonl", 4)
    commands.judge.calibrate(ScriptedJudge(writes), file=pairs)
    words = maseval("show", run, one.task_id, one.trial).stdout
    assert "(found 4 of 4, flagged 4 of 4 when measured)" in " ".join(words.split())
    words = " ".join(maseval("show", run).stdout.split())
    assert "found 4 of 4, flagged 4 of 4 when measured" in words


def test_the_page_has_the_claims_and_where_they_are(run):
    found = commands.judge.ask(run, ScriptedJudge(writes))
    one = found.judged.simulations("flagged")[0]
    page = commands.report(run)
    shown = json.dumps(index_of(page)) + page.read_text(encoding="utf-8")
    assert "agent: judged act" in shown
    assert one.task_id in shown


def test_the_official_number_and_those_by_rules_stay_as_they_were(run):
    before = commands.show(run).to_dict()
    commands.judge.ask(run, ScriptedJudge(writes))
    after = commands.show(run).to_dict()
    assert after["scores"] == before["scores"] and after["causes"] == before["causes"]


def test_the_judge_of_the_policy_sees_neither_verdict_nor_task(run):
    model = ScriptedJudge(writes)
    commands.judge.ask(run, model)
    texts = [str(each["messages"]) for each in model.requests]
    for one in RunFolder.read(run).recorded:
        task = load_raw_task("library", one.task_id)
        told = task["user_scenario"]["instructions"]
        secret = told if isinstance(told, str) else told["task_instructions"]
        assert not any(secret in text for text in texts)
    assert not any(re.search(r"reward|evaluation_criteria|passed", text) for text in texts)


def test_the_judge_of_the_cause_is_given_the_facts_and_asked_about_failures(run):
    def answer(messages, tools):
        conversation = str(messages[1]["content"])
        number, words = re.findall(r"^\[(\d+)\] (.*)$", conversation, re.M)[1]
        quote = {"message": int(number), "quote": words}
        made_up = {"message": None, "quote": "never written anywhere"}
        return json.dumps(
            {
                "first": "user",
                "second": "agent",
                "claims": [quote, made_up],
                "why": "It asked for something else.",
            }
        )

    model = ScriptedModelAdapter(answer, model_id="m", loop=True)
    found = commands.judge.ask(run, model, about="cause")
    failed = [e.simulation for e in commands.show(run).lines if e.kind == "fail"]
    assert found.chosen == len(failed) == len(found.judged.judgements)
    assert found.parties == {"user": len(failed)}
    assert found.judged.dropped == len(failed)
    asked = str(model.requests[0]["messages"])
    assert "The reference solution:" in asked and "failed at" in asked
    words = maseval("explain", run, failed[0].task_id, failed[0].trial).stdout
    assert "It asked for something else." in words


def test_nothing_is_asked_twice_and_only_the_chosen_are_asked_about(run):
    few = commands.judge.ask(run, ScriptedJudge(writes), numbers=5)
    assert few.chosen == len(few.judged.judgements) == 5
    model = ScriptedJudge(writes)
    assert commands.judge.ask(run, model, dry_run=True).price.requests == 24 - 5
    whole = commands.judge.ask(run, model)
    assert set(few.judged.judgements) < set(whole.judged.judgements)
    again = ScriptedJudge(writes)
    assert commands.judge.ask(run, again).took.sent == 0
    assert not again.requests
    other = commands.judge.ask(run, ScriptedJudge(writes), only="passed", args={"temperature": 1})
    assert other.took.sent and other.chosen < 24


def test_an_answer_about_a_conversation_that_was_run_again_does_not_count(run):
    commands.judge.ask(run, ScriptedJudge(writes))
    [judge] = RunJudgements(RunFolder.read(run)).judges
    log = run / LOG
    lines = log.read_text(encoding="utf-8").splitlines()
    at = next(number for number, line in enumerate(lines) if "goodbye" in line)
    lines[at] = lines[at].replace("goodbye", "good night")
    log.write_text("\n".join(lines) + "\n", encoding="utf-8")
    [left] = RunJudgements(RunFolder.read(run)).judges
    assert len(left.judgements) == len(judge.judgements) - 1


@pytest.mark.parametrize("fault", [*UNREADABLE, *WITHHELD, *EVIDENCE_FAULTS])
def test_no_fault_of_a_judge_becomes_a_clean_pass(run, fault):
    found = commands.judge.ask(run, ScriptedJudge(writes, faults={fault: 1.0}))
    assert found.counts == {"flagged": 0, "clear": 0, "undecided": 24}
    share = next(e for e in commands.show(run).judged_shares if "without breaches" in e.name)
    assert share.raw == 0


@pytest.mark.parametrize("fault", UNANSWERED)
def test_a_judge_that_was_down_is_asked_again_alone(run, fault):
    down = commands.judge.ask(run, ScriptedJudge(writes, faults={fault: 1.0}))
    assert down.counts == {"flagged": 0, "clear": 0, "undecided": 0}
    assert down.unanswered == 24 and not down.is_complete
    before = (run / LOG).read_bytes()
    later = commands.judge.ask(run, ScriptedJudge(writes))
    assert later.is_complete and later.counts["undecided"] == 0
    assert (run / LOG).read_bytes() == before


def test_a_wrong_key_ends_it_with_one_request_and_is_told(run):
    def refuse(messages, tools):
        raise AuthenticationError("no such key", provider="scripted")

    model = ScriptedModelAdapter(refuse, model_id="m")
    with pytest.raises(AuthenticationError, match="no such key"):
        commands.judge.ask(run, model)
    [line] = lines_of(run)
    assert line.unanswered and "no such key" in line.undecided
    assert commands.judge.ask(run, ScriptedJudge(writes, model_id="m")).unanswered == 0


def test_a_judge_that_is_killed_leaves_each_answer_once(run, tmp_path):
    (tmp_path / "slow.py").write_text(
        "import time\nfrom tests.app.judging.test_ask import writes\n"
        "from maseval.testing import ScriptedJudge\n\n\n"
        "def truth(text):\n    time.sleep(0.05)\n    return writes(text)\n\n\n"
        "def judge():\n    return ScriptedJudge(truth)\n",
        encoding="utf-8",
    )
    words = ["judge", "ask", str(run), "--judge", "slow.py:judge", "--concurrency", "2"]
    process = started(*words, folder=tmp_path)
    while not record_path(run).exists() or len(lines_of(run)) < 5:
        assert process.poll() is None
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    before = len(lines_of(run))
    assert before < 24
    code, _, errors = ended(started(*words, folder=tmp_path))
    assert code == 0, errors
    found = [(line.prompt, str(line.key)) for line in lines_of(run)]
    assert len(found) == len(set(found)) == 24


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"about": "weather"}, "no question 'weather'; ask about policy or cause"),
        ({"only": "happy"}, "only is 'happy'"),
        ({"numbers": 0}, "numbers is 0; give at least 1"),
        ({"concurrency": 0}, "concurrency is 0"),
        ({"domain": "retail"}, "has no domain 'retail'; it has library"),
        ({"budget": "much"}, "budget is 'much'"),
    ],
)
def test_a_wrong_option_is_named(run, given, words):
    with pytest.raises(ConfigurationError, match=words):
        commands.judge.ask(run, ScriptedJudge(writes), **given)


def test_a_judge_of_ones_own_is_named_by_its_file(run, tmp_path):
    with pytest.raises(ConfigurationError, match="there is no file"):
        commands.judge.ask(run, "nowhere.py:judge")
    (tmp_path / "own.py").write_text("judge = 3\n", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="name a model or a function"):
        commands.judge.ask(run, f"{tmp_path}/own.py:judge")


def test_a_conversation_without_a_task_here_is_nothing_to_ask_about(run):
    folder = RunFolder.read(run)
    report = folder.report(next(iter(folder.recorded)))
    assert judge_request(report, "policy") is not None
    assert judge_request({**report, "task_id": "fifth_hold"}, "policy") is None


def test_nobody_is_asked_who_failed_where_nobody_did(run):
    found = commands.judge.ask(run, ScriptedJudge(writes), about="cause", only="all")
    failed = sum(line.kind == "fail" for line in commands.show(run).lines)
    assert (found.chosen, found.took.skipped) == (failed, 24 - failed)
