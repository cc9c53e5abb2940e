"""MACSEvaluator: were the assertions of one side met?"""

import hashlib
from typing import Any, TypedDict

from maseval.benchmark.macs.data.files import COMMIT, Scenario
from maseval.benchmark.macs.judging import (
    JUDGE_PARAMS,
    MAX_TRY,
    SIDES,
    Coverage,
    GoalSide,
    JudgedAssertion,
    JudgeError,
    assertions_of,
    coverage_of,
    judge_prompt,
    judge_side,
    load_templates,
    score_of,
)
from maseval.benchmark.macs.trajectories import (
    MACSTraces,
    history_in,
    history_of,
    invocations_in,
    invocations_of,
)
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.core.recorded import RecordedTrace
from maseval.core.task import Task
from maseval.core.tracing import ConfigurableMixin, JsonObject


class SideResult(TypedDict, total=False):
    """The result of one evaluator, with ``error`` and ``raw_response`` for an unreadable answer."""

    gsr: float
    partial_gsr: float
    report: list[JudgedAssertion]
    coverage: Coverage
    error: str
    raw_response: str


class MACSEvaluator(Evaluator, ConfigurableMixin):
    """Asks a judge about the assertions of one side: ``user`` (visible) or ``system`` (inner).

    Conversations recorded in the original's form are judged by the original's prompt. Otherwise
    the prompt is made of messages and tool invocations, in the same words.
    """

    def __init__(
        self,
        model: ModelAdapter,
        task: Task,
        gsr_type: GoalSide = "user",
        template: str | None = None,
        *,
        max_try: int = MAX_TRY,
    ) -> None:
        if gsr_type not in SIDES:
            raise ConfigurationError(f"gsr_type is {gsr_type!r}; choose 'user' or 'system'")
        self.model = model
        self.task = task
        self.gsr_type: GoalSide = gsr_type
        self.template = load_templates()[gsr_type] if template is None else template
        self.max_try = max_try

    def filter_traces(self, traces: JsonObject) -> JsonObject:
        parsed = MACSTraces(traces)
        recorded = {"trajectories": parsed.trajectories} if parsed.trajectories else {}
        if self.gsr_type == "user":
            return {"messages": parsed.user.raw.get("messages") or [], **recorded}
        others = iter(parsed.agents.values())
        primary = parsed.agents.get(self._primary) or next(others, RecordedTrace({}))
        return {
            "messages": primary.raw.get("messages") or [],
            "tool_traces": traces.get("tools", {}),
            **recorded,
        }

    def __call__(self, traces: JsonObject, final_answer: Any = None) -> JsonObject:
        return dict(self._result(traces))

    def _result(self, traces: JsonObject) -> SideResult:
        scenario = self._scenario()
        if not scenario["assertions"]:
            return {"gsr": 1.0, "partial_gsr": 1.0, "report": []}
        prompt = judge_prompt(
            {self.gsr_type: self.template}, self.gsr_type, scenario, *self._texts(traces)
        )
        asserted = len(assertions_of(scenario["assertions"], self.gsr_type))
        try:
            side = judge_side(self.model, prompt, self.gsr_type, asserted, self.max_try)
        except JudgeError as error:
            return {
                "gsr": 0.0,
                "partial_gsr": 0.0,
                "report": [],
                "coverage": coverage_of([], asserted),
                "error": error.message,
                "raw_response": error.raw,
            }
        return {
            "gsr": side.score.gsr,
            "partial_gsr": side.score.partial,
            "report": side.rows,
            "coverage": side.coverage,
        }

    def _scenario(self) -> Scenario:
        assertions = self.task.evaluation_data.get("assertions") or []
        if assertions and not self.task.metadata.get("scenario"):
            raise ConfigurationError(
                f"task {self.task.id!r} has assertions but no metadata['scenario'], which the "
                "judge has to know; add what the user wants"
            )
        return {
            "scenario": self.task.metadata.get("scenario", ""),
            "input_problem": self.task.query,
            "assertions": list(assertions),
        }

    def _texts(self, traces: JsonObject) -> tuple[str, str]:
        """Return the history and the invocations that the judge reads."""
        rows = traces.get("trajectories")
        if rows and self._primary in rows:
            return history_in(rows, self._primary), invocations_in(rows, self._primary, self._human)
        history = history_of(traces.get("messages"), self._primary, self._human)
        return history, invocations_of(traces.get("tool_traces"))

    @property
    def _primary(self) -> str:
        return str(self.task.environment_data.get("primary_agent_id") or "Agent")

    @property
    def _human(self) -> str:
        return str(self.task.environment_data.get("human_id") or "User")

    def gather_config(self) -> JsonObject:
        """Return the settings that the verdicts depend on, besides the conversation."""
        return {
            **super().gather_config(),
            "gsr_type": self.gsr_type,
            "model_id": self.model.model_id,
            "template_sha256": hashlib.sha256(self.template.encode()).hexdigest(),
            "data_commit": COMMIT,
            "generation_params": dict(JUDGE_PARAMS),
            "max_try": self.max_try,
        }


def combine_sides(user: SideResult, system: SideResult) -> JsonObject:
    """Return both sides as one evaluation; overall success means success of both.

    If the judge's answer for a side cannot be read, its rates are 0, as in MASEval, but there is
    no verdict: ``passed`` and ``reward`` are None unless the other side fails all the same.
    """
    sides = {"user": user, "system": system}
    errors = {side: each["error"] for side, each in sides.items() if "error" in each}
    report = [*user["report"], *system["report"]]
    joint = score_of(report).partial if report else 1.0
    overall = 1.0 if user["gsr"] == 1.0 == system["gsr"] else 0.0
    is_open = all(each["gsr"] == 1.0 for each in sides.values() if "error" not in each)
    verdict = None if errors and is_open else overall
    return {
        "user_gsr": user["gsr"],
        "user_partial_gsr": user["partial_gsr"],
        "system_gsr": system["gsr"],
        "system_partial_gsr": system["partial_gsr"],
        "overall_gsr": overall,
        "overall_partial_gsr": 0.0 if errors else joint,
        "supervisor_gsr": 1.0 if overall == 1.0 or user["gsr"] == 1.0 else 0.0,
        "report": report,
        "coverage": {side: each["coverage"] for side, each in sides.items() if "coverage" in each},
        "judge_errors": errors,
        "passed": None if verdict is None else verdict == 1.0,
        "reward": verdict,
    }
