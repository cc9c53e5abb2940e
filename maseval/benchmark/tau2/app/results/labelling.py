"""The questions about tau2's conversations that people answer beside a judge.

Whether the policy was kept is asked of passes: a failure is no pass anyway. A breach of manner
alone does not make it a no, as no number counts that. Who failed is asked of failures.
"""

from collections.abc import Mapping, Sequence

from maseval.app.benchmarks import JudgeAnswers, JudgedShareKind, LabelQuestion
from maseval.app.results.calibrated import latest_calibration
from maseval.app.results.judged import JudgedBy, RunJudgements, status_of
from maseval.core.outcome import Simulation
from maseval.runs.recording import Recording

KEPT, BROKEN = "kept", "broken"
_HEAVY = ("act", "statement")
_PARTIES = ("agent", "user", "task", "infrastructure")

QUESTIONS = (
    LabelQuestion(
        "policy",
        "Did the agent keep the policy in what it did and stated? (Manner alone breaks nothing.)",
        (KEPT, BROKEN),
        lambda line: line.passed is True,
        (JudgedShareKind("pass^1 without breaches", (KEPT,), of_all=True),),
    ),
    LabelQuestion(
        "cause",
        "Who failed first: the agent, the simulated user, the task, or the infrastructure?",
        _PARTIES,
        lambda line: line.passed is False,
        tuple(JudgedShareKind(f"failures by {party}", (party,)) for party in _PARTIES[:3]),
    ),
)


def label_questions(folder: Recording) -> Sequence[LabelQuestion]:
    """Return the questions; they are the same for every run."""
    return QUESTIONS


def calibration_in_words(folder: Recording, about: str, judge: str) -> str | None:
    """Return how far a judge of the run was right when it was measured."""
    for each in RunJudgements(folder).about(about):
        if each.name == judge:
            found = latest_calibration(each)
            return None if found is None else found.in_words
    return None


def judge_answers(folder: Recording, about: str) -> Mapping[str, JudgeAnswers]:
    """Return the answers of each judge, in the words that labels have."""
    return {
        judge.name: {one: _answer(judge, one) for one in judge.judgements}
        for judge in RunJudgements(folder).about(about)
    }


def _answer(judge: JudgedBy, one: Simulation) -> str | None:
    found = judge.judgements[one]
    if judge.question == "policy":
        by_status = {"clear": KEPT, "flagged": BROKEN}
        return by_status.get(status_of(found, _HEAVY))
    return None if status_of(found) == "undecided" else str((found.answer or {}).get("first"))
