"""Score finished conversations, and write results in the original's format.

After ``src/`` of multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates; MIT-0).
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal, Required, TypedDict, cast

from maseval.benchmark.macs.data.files import ATTRIBUTION, Scenario
from maseval.benchmark.macs.data_loader import load_agent_config, load_scenarios
from maseval.benchmark.macs.evaluator import (
    MAX_TRY,
    SIDES,
    JudgedAssertion,
    JudgeError,
    SideResult,
    Templates,
    assertions_of,
    judge_prompt,
    judge_side,
    load_templates,
    score_of,
)
from maseval.benchmark.macs.metrics import RecordedGoals
from maseval.benchmark.macs.trajectories import TrajectoryRow, history_in, invocations_in
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.data.folder import AnyPath

Rate = Literal["user_gsr", "system_gsr", "overall_gsr", "partial_gsr"]
RATES: tuple[Rate, ...] = ("user_gsr", "system_gsr", "overall_gsr", "partial_gsr")


class ConversationFile(TypedDict):
    """A conversation in the original's form."""

    trajectories: Mapping[str, Sequence[TrajectoryRow]]


class ConversationResult(TypedDict, total=False):
    """The verdict on one conversation, with ``error`` and ``raw_response`` if there is none."""

    trajectory_index: Required[int]
    user_gsr: Required[float]
    system_gsr: Required[float]
    overall_gsr: Required[float]
    partial_gsr: Required[float]
    report: Required[list[JudgedAssertion]]
    error: str
    raw_response: str


class ResultsDocument(TypedDict):
    """The original's file of results: means over conversations, and each of them."""

    user_gsr: float
    system_gsr: float
    overall_gsr: float
    partial_gsr: float
    scenario_count: int
    conversation_count: int
    conversation_evals: list[ConversationResult]


def score_conversation(
    conversation: ConversationFile,
    scenario: Scenario,
    judge: ModelAdapter,
    *,
    primary_agent_id: str,
    human_id: str,
    index: int = 0,
    strict: bool = False,
    templates: Templates | None = None,
) -> ConversationResult:
    """Let ``judge`` decide about both sides of a conversation.

    An answer that cannot be read is asked for again, three times in all, and then counts as a
    failure with an ``error``. With ``strict`` there is one attempt, and where the original's script
    would crash a ``JudgeError`` is raised. ``templates`` default to the original's, fetched.
    """
    try:
        sides = _judged_sides(
            conversation,
            scenario,
            judge,
            primary_agent_id,
            human_id,
            templates or load_templates(),
            1 if strict else MAX_TRY,
        )
        return _result(index, *sides)
    except JudgeError as error:
        if strict:
            raise
        failed = _verdict(index, [0.0] * len(RATES), [])
        return {**failed, "error": error.message, "raw_response": error.raw}


def _judged_sides(
    conversation: ConversationFile,
    scenario: Scenario,
    judge: ModelAdapter,
    primary: str,
    human: str,
    templates: Templates,
    max_try: int,
) -> Iterator[SideResult]:
    try:
        trajectories = conversation["trajectories"]
        history = history_in(trajectories, primary)
        invocations = invocations_in(trajectories, primary, human)
        prompts = {
            side: judge_prompt(templates, side, scenario, history, invocations) for side in SIDES
        }
    except (LookupError, TypeError, AttributeError) as error:
        raise JudgeError(
            f"the conversation or its scenario is malformed: {type(error).__name__}: {error}; "
            f"it needs trajectories with rows, one of them called {primary!r}, and assertions"
        ) from error
    for side, prompt in prompts.items():
        asserted = len(assertions_of(scenario["assertions"], side))
        yield judge_side(judge, prompt, side, asserted, max_try)


def _result(index: int, user: SideResult, system: SideResult) -> ConversationResult:
    report = [*user["report"], *system["report"]]
    overall = score_of(report)
    return _verdict(index, (user["gsr"], system["gsr"], *overall), report)


def _verdict(
    index: int, rates: Sequence[float], report: list[JudgedAssertion]
) -> ConversationResult:
    named = dict(zip(RATES, rates, strict=True))
    return cast(ConversationResult, {"trajectory_index": index, **named, "report": report})


def score_conversations(
    folder: AnyPath,
    domain: str,
    judge: ModelAdapter,
    *,
    strict: bool = False,
    data_dir: AnyPath | None = None,
) -> ResultsDocument:
    """Score the files ``conversation_<i>.json`` of a folder, where i is the scenario's index.

    Scenarios without a file are left out of the means, as in the original.
    """
    scenarios = load_scenarios(domain, data_dir)
    config = load_agent_config(domain, data_dir)
    templates = load_templates(data_dir)
    found = {
        index: path
        for index in range(len(scenarios))
        if (path := Path(folder) / f"conversation_{index}.json").is_file()
    }
    evals = [
        score_conversation(
            read_conversation(path),
            scenarios[index],
            judge,
            primary_agent_id=config["primary_agent_id"],
            human_id=config["human_id"],
            index=index,
            strict=strict,
            templates=templates,
        )
        for index, path in found.items()
    ]
    if not evals:
        raise ConfigurationError(
            f"{folder} has no conversation to score; its files must be called "
            f"conversation_0.json to conversation_{len(scenarios) - 1}.json"
        )
    return results_document(evals, len(scenarios))


def read_conversation(path: Path) -> ConversationFile:
    try:
        found: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise JudgeError(f"{path} is not a conversation: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("trajectories"), dict):
        raise JudgeError(f"{path} is not a conversation: it has no trajectories")
    return cast(ConversationFile, found)


def results_document(evals: Sequence[ConversationResult], scenario_count: int) -> ResultsDocument:
    """Return the original's results: plain means over the conversations that were evaluated."""
    if not evals:
        raise ConfigurationError("no conversation was evaluated, so there is no mean")
    means = {name: sum(each[name] for each in evals) / len(evals) for name in RATES}
    counts = {"scenario_count": scenario_count, "conversation_count": len(evals)}
    return cast(ResultsDocument, {**means, **counts, "conversation_evals": list(evals)})


def result_of(report: Report, index: int) -> ConversationResult | None:
    """Return the verdict of a live run as the original would write it, or None if there is none."""
    for found in RecordedGoals.all_in(RecordedReport(report)):
        rates = [getattr(found, name) for name in RATES]
        return _verdict(index, rates, cast(list[JudgedAssertion], found.rows))
    return None


def results_text(document: Mapping[str, object]) -> str:
    """Return the results as the original writes its file."""
    return json.dumps(document, indent=4)


def conversation_text(trajectories: Mapping[str, Sequence[TrajectoryRow]]) -> str:
    """Return a conversation as text in the original's format; its first key is the attribution."""
    return json.dumps({"attribution": ATTRIBUTION, "trajectories": trajectories}, indent=4)
