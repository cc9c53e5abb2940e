"""MACSEvaluator: a model judges whether the assertions of one side were met.

Everything follows the original to the letter, also where that is odd: an answer that is neither
TRUE nor FALSE cannot fail a conversation, and nobody compares the number of rows with that of the
assertions. The ``coverage`` of a result shows both. What the original would crash on is a
``JudgeError``.

The prompts are read out of the original's source file, which is fetched, parsed as text and never
executed. Its templates have single braces. The public form, which people may write themselves, has
double ones: ``{{scenario}}``.

After ``src/`` of multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates; MIT-0).
"""

import ast
import hashlib
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from maseval.benchmark.macs.data.files import COMMIT, TEMPLATES_FILE, original_files
from maseval.benchmark.macs.trajectories import (
    MACSTraces,
    history_in,
    history_of,
    invocations_in,
    invocations_of,
)
from maseval.core.evaluator import Evaluator
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.judge import MAX_ATTEMPTS, Judge, Question
from maseval.core.model import ModelAdapter, Params
from maseval.core.recorded import RecordedTrace
from maseval.core.task import Task
from maseval.core.tracing import ConfigurableMixin, JsonObject
from maseval.core.words import fill_template
from maseval.data.files import SourceShapeError, parse_source, refuse_unreadable
from maseval.data.folder import AnyPath

CONSTANTS = {"user": "USER_GSR_PROMPT", "system": "SYSTEM_GSR_PROMPT", "issues": "ISSUES_PROMPT"}
"""The purpose of each template, and its name in the original."""

Templates = Mapping[str, str]


def load_templates(data_dir: AnyPath | None = None, verbose: int = 1) -> Templates:
    """Return the templates ``user``, ``system`` and ``issues`` in the public form."""
    content = original_files([TEMPLATES_FILE], data_dir, verbose=verbose)[TEMPLATES_FILE]
    return _public_forms(content)


@lru_cache(maxsize=2)
def _public_forms(content: bytes) -> Templates:
    found = constants_in(content)
    missing = [name for name in CONSTANTS.values() if name not in found]
    if missing:
        raise SourceShapeError(f"{TEMPLATES_FILE} does not define {', '.join(missing)}")
    doubled = {ord("{"): "{{", ord("}"): "}}"}
    return {kind: found[name].translate(doubled) for kind, name in CONSTANTS.items()}


def constants_in(content: bytes) -> dict[str, str]:
    """Return the texts that a Python file assigns; it may do nothing else."""
    found: dict[str, str] = {}
    module = parse_source(TEMPLATES_FILE, content)
    with refuse_unreadable(TEMPLATES_FILE):
        for statement in module.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name] = _text(value, found)
                case _:
                    raise _shape_error(statement)
    return found


def _text(node: ast.expr, known: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, known) + _text(right, known)
    raise _shape_error(node)


def _shape_error(node: ast.stmt | ast.expr) -> SourceShapeError:
    return SourceShapeError(
        f"{TEMPLATES_FILE}, line {node.lineno}: only texts, names of texts and their sums may be "
        "assigned there"
    )


GoalSide = Literal["user", "system"]
SIDES: tuple[GoalSide, GoalSide] = ("user", "system")

# These are the original's words, judged when a side has no assertion of its own.
DEFAULT_ASSERTION = "User goals are achieved with help from the agent."
# The original asks once and crashes on a bad answer. Asking again changes no verdict that the
# original would have given.
MAX_TRY = MAX_ATTEMPTS
QUESTION = "assertions"
JUDGE_PARAMS: Params = {"temperature": 0, "response_format": {"type": "json_object"}}

JudgedAssertion = dict[str, str]
"""One judged assertion: ``assertion``, ``answer``, ``evidence`` and ``assertion_type``."""

# Models put the list into an object, under one of these names.
_WRAPPERS = ("assertions", "results", "duplicate_or_irrelevant_messages")


class JudgeError(MASEvalError, ValueError):
    """A judge's answer, or the conversation it should judge, cannot be read.

    ``raw`` is the answer, if there was one.
    """

    def __init__(self, message: str, raw: str = "") -> None:
        super().__init__(message, component="judge")
        self.raw = raw


class GoalScore(NamedTuple):
    """``gsr`` is 1 if no assertion is false; ``partial`` is the true share of the decided ones."""

    gsr: float
    partial: float


def assertions_of(assertions: Sequence[str], side: GoalSide) -> list[str]:
    """Return the assertions about one side, without prefixes."""
    stripped = [assertion.lstrip() for assertion in assertions]
    if side == "system":
        return [text[6:].strip() for text in stripped if _has_prefix(text, "agent:")]
    # An assertion without a prefix belongs to the user's side, and is stripped on the left only.
    return [
        text[5:].strip() if _has_prefix(text, "user:") else text
        for text in stripped
        if not _has_prefix(text, "agent:")
    ]


def _has_prefix(text: str, prefix: str) -> bool:
    return text[: len(prefix)].lower() == prefix


def judge_prompt(
    templates: Templates, side: GoalSide, scenario: JsonObject, history: str, invocations: str
) -> str:
    """Return the question for one side; the scenario is the ``repr`` of the whole object."""
    asked = assertions_of(scenario["assertions"], side) or [DEFAULT_ASSERTION]
    values = {
        "scenario": str(dict(scenario)),
        "history": history,
        "invocations": invocations,
        "assertions": "\n".join(asked),
    }
    return fill_template(templates[side], values)


class JudgedSide(BaseModel):
    """The judge's answer about one side, read and counted."""

    gsr: float
    partial_gsr: float
    report: list[JudgedAssertion]
    coverage: dict[str, int]


def judge_side(judge: Judge, prompt: str, side: GoalSide, asserted: int) -> JsonObject:
    """Return the answer for one side; ``JudgeError`` if none can be read."""
    question = Question(
        f"{QUESTION}: {side}",
        # The prompt is already complete. As a template it would have its braces filled in again.
        "{{prompt}}",
        JudgedSide,
        params=JUDGE_PARAMS,
        read=lambda raw: JudgedSide.model_validate(read_answer(raw, side, asserted)),
    )
    found = judge.ask(question, prompt=prompt)
    if found.answer is None and not found.unanswered:
        raise JudgeError(str(found.undecided), found.reply or "")
    return found.require()


def read_answer(raw: str, side: GoalSide, asserted: int) -> JsonObject:
    """Return the answer for one side, read and counted."""
    rows = rows_in(raw)
    score = score_of(rows, raw)
    for row in rows:
        row["assertion_type"] = side
    coverage = coverage_of(rows, asserted)
    return {"gsr": score.gsr, "partial_gsr": score.partial, "report": rows, "coverage": coverage}


def rows_in(raw: str) -> list[JudgedAssertion]:
    """Return the rows of an answer, every value as text."""
    # Some models begin with a sentence of their own, which the original cuts off as well.
    text = raw.partition("\n")[2] if raw.startswith("Here") else raw
    # The original takes out line breaks as well, also those inside of texts.
    for noise in ("\n", "```json", "```"):
        text = text.replace(noise, "")
    try:
        value: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise JudgeError(f"JSON decode error: {error}", raw) from error
    return [_row(entry, raw) for entry in _entries(value, raw)]


def _entries(value: object, raw: str) -> list[object]:
    if isinstance(value, dict):
        key = next((key for key in _WRAPPERS if key in value), None)
        value = value if key is None else value[key]
    if isinstance(value, dict):
        value = [value]
    # If a list contains such a name, the original indexes the list with it and crashes.
    if not isinstance(value, list) or any(wrapper in value for wrapper in _WRAPPERS):
        raise JudgeError("the answer is not a list of judged assertions", raw)
    return value


def _row(entry: object, raw: str) -> JudgedAssertion:
    if not isinstance(entry, Mapping):
        raise JudgeError(f"{entry!r} is not a judged assertion", raw)
    for value in entry.values():
        if isinstance(value, list) and not all(isinstance(part, str) for part in value):
            raise JudgeError(f"{value!r} is a list of other things than texts", raw)
    # This turns a bare true into "True", which counts as an answer.
    return {key: value if isinstance(value, str) else str(value) for key, value in entry.items()}


def score_of(rows: Sequence[JudgedAssertion], raw: str = "") -> GoalScore:
    """Return the score of the rows; there must be at least one that is decided."""
    answers = [_answer(row, raw) for row in rows]
    # Answers are not stripped, as in the original: " TRUE " counts as undecided.
    true, false = answers.count("true"), answers.count("false")
    # The original divides by this number.
    if true + false == 0:
        raise JudgeError("no assertion is judged TRUE or FALSE", raw)
    return GoalScore(1.0 if false == 0 else 0.0, true / (true + false))


def _answer(row: JudgedAssertion, raw: str) -> str:
    if "answer" not in row:
        raise JudgeError(f"a judged assertion has no 'answer': {row}", raw)
    return row["answer"].lower()


def coverage_of(rows: Sequence[JudgedAssertion], asserted: int) -> JsonObject:
    """Count the assertions of one side, and the judge's rows about them."""
    answers = [row["answer"].lower() for row in rows]
    true, false = answers.count("true"), answers.count("false")
    return {
        "assertions": asserted,
        "rows": len(rows),
        "true": true,
        "false": false,
        "undecided": len(rows) - true - false,
    }


class MACSEvaluator(Evaluator, ConfigurableMixin):
    """Asks a judge about the assertions of one side: ``user`` (visible) or ``system`` (inner).

    Conversations recorded in the original's form are judged by the original's prompt. Otherwise
    the prompt is made of messages and tool invocations, in the same words.
    """

    def __init__(
        self,
        model: ModelAdapter | Judge,
        task: Task,
        gsr_type: GoalSide = "user",
        template: str | None = None,
        *,
        max_try: int = MAX_TRY,
    ) -> None:
        if gsr_type not in SIDES:
            raise ConfigurationError(f"gsr_type is {gsr_type!r}; choose 'user' or 'system'")
        self.judge = Judge.of(model, max_attempts=max_try)
        self.model = self.judge.model
        self.task = task
        self.gsr_type: GoalSide = gsr_type
        self.template = load_templates()[gsr_type] if template is None else template
        self.max_try = max_try

    def filter_traces(self, traces: JsonObject) -> JsonObject:
        parsed = MACSTraces(traces)
        recorded = {"trajectories": parsed.trajectories} if parsed.trajectories else {}
        if self.gsr_type == "user":
            return {"messages": parsed.user.raw.get("messages") or [], **recorded}
        # A team may use other agent names than the files; its first agent is then taken for the one
        # that talks to the user.
        others = iter(parsed.agents.values())
        primary = parsed.agents.get(self._primary) or next(others, RecordedTrace({}))
        return {
            "messages": primary.raw.get("messages") or [],
            "tool_traces": traces.get("tools", {}),
            **recorded,
        }

    def __call__(self, traces: JsonObject, final_answer: Any = None) -> JsonObject:
        """Return the result for the side; an unreadable answer is its ``error``."""
        scenario = self._scenario()
        # A task without any assertion counts as met, as in MASEval, and no judge is asked.
        if not scenario["assertions"]:
            return {"gsr": 1.0, "partial_gsr": 1.0, "report": []}
        prompt = judge_prompt(
            {self.gsr_type: self.template}, self.gsr_type, scenario, *self._texts(traces)
        )
        # Coverage counts what the task asserts, so it is 0 when only the default assertion is
        # judged.
        asserted = len(assertions_of(scenario["assertions"], self.gsr_type))
        try:
            return judge_side(self.judge, prompt, self.gsr_type, asserted)
        # The official number counts an unreadable answer as failed; ``error`` lets reports list it
        # apart.
        except JudgeError as error:
            return {
                "gsr": 0.0,
                "partial_gsr": 0.0,
                "report": [],
                "coverage": coverage_of([], asserted),
                "error": error.message,
                "raw_response": error.raw,
            }

    def _scenario(self) -> JsonObject:
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
        return {
            **super().gather_config(),
            "gsr_type": self.gsr_type,
            "model_id": self.judge.model_id,
            "template_sha256": hashlib.sha256(self.template.encode()).hexdigest(),
            "data_commit": COMMIT,
            "generation_params": dict(JUDGE_PARAMS),
            "max_try": self.max_try,
        }


def combine_sides(user: JsonObject, system: JsonObject) -> JsonObject:
    """Return both sides as one evaluation; overall success means success of both.

    If the judge's answer for a side cannot be read, its rates are 0, as in MASEval, but there is
    no verdict: ``passed`` and ``reward`` are None unless the other side fails all the same.
    """
    sides = {"user": user, "system": system}
    errors = {side: each["error"] for side, each in sides.items() if "error" in each}
    report = [*user["report"], *system["report"]]
    # The mean is over rows and not over the two sides, as in the original.
    joint = score_of(report).partial if report else 1.0
    overall = 1.0 if user["gsr"] == 1.0 == system["gsr"] else 0.0
    # A readable side that failed decides the verdict, whatever the unreadable one would have said.
    is_open = all(each["gsr"] == 1.0 for each in sides.values() if "error" not in each)
    verdict = None if errors and is_open else overall
    return {
        "user_gsr": user["gsr"],
        "user_partial_gsr": user["partial_gsr"],
        "system_gsr": system["gsr"],
        "system_partial_gsr": system["partial_gsr"],
        "overall_gsr": overall,
        "overall_partial_gsr": 0.0 if errors else joint,
        # This is a stand-in that always equals the user's side, because no formula for it is known.
        "supervisor_gsr": 1.0 if overall == 1.0 or user["gsr"] == 1.0 else 0.0,
        "report": report,
        "coverage": {side: each["coverage"] for side, each in sides.items() if "coverage" in each},
        "judge_errors": errors,
        "passed": None if verdict is None else verdict == 1.0,
        "reward": verdict,
    }
