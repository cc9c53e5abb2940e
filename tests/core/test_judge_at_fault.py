"""A judge that misbehaves, or is killed: nothing passes by it, and no answer is paid twice."""

import json
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from pydantic import BaseModel

from maseval.benchmark.tau2.scoring.judge import JudgeReplyError, judge
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Judge, Question
from maseval.core.judge_record import JudgeRecord
from maseval.testing import JUDGE_FAULTS, FaultyJudge
from maseval.testing.faulty_judge import KILLED, UNANSWERED
from tests.core.judging import CONVERSATIONS

ROOT = Path(__file__).parents[2]


class Found(BaseModel):
    """What was broken."""

    broken: list[str]


QUESTION = Question("policy", "Was it kept?", Found)
CLEAN = json.dumps({"broken": []})
SURVIVED = [fault for fault in JUDGE_FAULTS if fault not in KILLED]


@pytest.mark.parametrize("fault", SURVIVED)
def test_no_fault_becomes_a_clean_pass(fault, tmp_path):
    record = JudgeRecord(tmp_path / "judgements.jsonl")

    found = Judge(FaultyJudge(CLEAN, [fault]), record=record).ask(QUESTION, {"task_id": "1"})

    assert found.answer is None and found.undecided
    assert found.unanswered is (fault in UNANSWERED)
    assert len(record.lines()) == (1 if found.unanswered else 2)
    # Asked by a later session, a judge that works again decides.
    again = JudgeRecord(record.path)
    assert Judge(FaultyJudge(CLEAN, ["none"]), record=again).ask(QUESTION).answer == {"broken": []}


@pytest.mark.parametrize("fault", SURVIVED)
def test_no_fault_meets_an_assertion(fault):
    result = {"expectedOutcome": "kind", "reasoning": "it was", "metExpectation": True}
    model = FaultyJudge(json.dumps({"results": [result]}), [fault])

    with pytest.raises(JudgeReplyError, match=r"^the judge faulty ") as caught:
        judge(model, [{"role": "assistant", "content": "Yes."}], ["The agent is kind."])

    assert caught.value.unanswered is (fault in UNANSWERED)


def test_an_unknown_fault_is_refused():
    with pytest.raises(ConfigurationError, match="unknown fault 'rude'"):
        FaultyJudge(CLEAN, ["rude"])


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_a_judge_that_kills_its_process_leaves_a_record_that_resumes(tmp_path):
    code = (
        "from tests.core.test_judge_at_fault import *\n"
        f"record = JudgeRecord({str(tmp_path / 'judgements.jsonl')!r})\n"
        "judge = Judge(FaultyJudge(CLEAN, ['none', 'killed']), record=record)\n"
        "for number in '12': judge.ask(Question('policy', number, Found))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False)

    assert done.returncode == -signal.SIGKILL
    record = JudgeRecord(tmp_path / "judgements.jsonl")
    assert [line.answer for line in record.lines()] == [{"broken": []}]
    assert Judge("faulty", record=record).ask(Question("policy", "1", Found)).answer is not None
    assert Judge("faulty", record=record).ask(Question("policy", "2", Found)).unanswered


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL")
def test_after_any_kills_each_answer_is_there_once(tmp_path):
    path, sent = tmp_path / "judgements.jsonl", tmp_path / "sent"
    command = [sys.executable, "-m", "tests.core.judging", str(path), str(sent)]
    chance, kills = random.Random(58), 0
    while True:
        running = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.DEVNULL)
        lines = _lines(path)
        wanted = lines + chance.randrange(1, 6)
        while running.poll() is None and _lines(path) < wanted:
            time.sleep(0.0005)
        time.sleep(chance.uniform(0, 0.004))
        running.kill()
        running.wait()
        if running.returncode == 0:
            break
        kills += 1

    record = JudgeRecord(path)
    answered = Counter(line.key["task_id"] for line in record.lines() if line.answer is not None)
    assert kills >= 5
    assert answered == dict.fromkeys(map(str, range(CONVERSATIONS)), 1)
    firsts = Counter(line.key["task_id"] for line in record.lines() if line.attempt == 1)
    assert set(firsts.values()) == {1}
    # Only what was on its way when the process died was asked again.
    asked = len(sent.read_text().splitlines())
    assert asked - len(record.lines()) <= 8 * kills


def _lines(path: Path) -> int:
    return path.read_bytes().count(b"\n") if path.exists() else 0
