"""Score finished conversations, and write results in the original's format.

After ``src/`` of multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates; MIT-0).
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from maseval.benchmark.macs.data.files import ATTRIBUTION
from maseval.benchmark.macs.data_loader import load_agent_config, load_scenarios
from maseval.benchmark.macs.evaluator import (
    MAX_TRY,
    SIDES,
    GoalSide,
    JudgeError,
    Templates,
    assertions_of,
    judge_prompt,
    judge_side,
    load_templates,
    score_of,
)
from maseval.benchmark.macs.metrics import RecordedGoals
from maseval.benchmark.macs.trajectories import Trajectories, history_in, invocations_in
from maseval.core.exceptions import ConfigurationError
from maseval.core.judge import Judge
from maseval.core.model import ModelAdapter
from maseval.core.outcome import RecordedReport
from maseval.core.report import Report
from maseval.core.tracing import JsonObject
from maseval.data.folder import AnyPath

RATES = ("user_gsr", "system_gsr", "overall_gsr", "partial_gsr")


def score_conversation(
    conversation: Mapping[str, Any],
    scenario: JsonObject,
    judge: ModelAdapter | Judge,
    *,
    primary_agent_id: str,
    human_id: str,
    index: int = 0,
    strict: bool = False,
    templates: Templates | None = None,
) -> JsonObject:
    """Let ``judge`` decide about both sides of a conversation; return the original's verdict on it.

    An answer that cannot be read is asked for once more, and then counts as a failure with
    ``error`` and ``raw_response``. With ``strict`` there is one attempt, and where the original's
    script would crash a ``JudgeError`` is raised. ``templates`` default to the original's, fetched.
    """
    found = templates or load_templates()
    asked = Judge.of(judge, max_attempts=1 if strict else MAX_TRY)
    # By its key the judge's record knows an answer again when scoring is repeated.
    asked.key = {"task_id": str(index), "trial": 0}
    try:
        prompts = _prompts(conversation, scenario, primary_agent_id, human_id, found)
        # The generator asks the user's side first; if that is unreadable, the system's is never
        # asked.
        user, system = (
            judge_side(asked, prompt, side, asserted)
            for side, (prompt, asserted) in prompts.items()
        )
        report = [*user["report"], *system["report"]]
        return _verdict(index, (user["gsr"], system["gsr"], *score_of(report)), report)
    except JudgeError as error:
        if strict:
            raise
        failed = _verdict(index, [0.0] * len(RATES), [])
        return {**failed, "error": error.message, "raw_response": error.raw}


def _prompts(
    conversation: Mapping[str, Any],
    scenario: JsonObject,
    primary: str,
    human: str,
    templates: Templates,
) -> dict[GoalSide, tuple[str, int]]:
    try:
        trajectories = conversation["trajectories"]
        history = history_in(trajectories, primary)
        invocations = invocations_in(trajectories, primary, human)
        return {
            side: (
                judge_prompt(templates, side, scenario, history, invocations),
                len(assertions_of(scenario["assertions"], side)),
            )
            for side in SIDES
        }
    # The file comes from elsewhere, so any part of it may be missing or of another type.
    except (LookupError, TypeError, AttributeError) as error:
        raise JudgeError(
            f"the conversation or its scenario is malformed: {type(error).__name__}: {error}; "
            f"it needs trajectories with rows, one of them called {primary!r}, and assertions"
        ) from error


def _verdict(index: int, rates: Sequence[float], report: Sequence[object]) -> JsonObject:
    named = dict(zip(RATES, rates, strict=True))
    return {"trajectory_index": index, **named, "report": report}


def score_conversations(
    folder: AnyPath,
    domain: str,
    judge: ModelAdapter | Judge,
    *,
    strict: bool = False,
    data_dir: AnyPath | None = None,
) -> JsonObject:
    """Score the files ``conversation_<i>.json`` of a folder, where i is the scenario's index.

    Scenarios without a file are left out of the means, as in the original.
    """
    scenarios = load_scenarios(domain, data_dir)
    config = load_agent_config(domain, data_dir)
    templates = load_templates(data_dir)
    # A file that is missing is a scenario that was not run, and no error.
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


def read_conversation(path: Path) -> JsonObject:
    try:
        found: object = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as error:
        raise JudgeError(f"{path} is not a conversation: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("trajectories"), dict):
        raise JudgeError(f"{path} is not a conversation: it has no trajectories")
    return found


def results_document(evals: Sequence[JsonObject], scenario_count: int) -> JsonObject:
    """Return the original's results: plain means over the conversations that were evaluated."""
    if not evals:
        raise ConfigurationError("no conversation was evaluated, so there is no mean")
    means = {name: sum(each[name] for each in evals) / len(evals) for name in RATES}
    return {
        **means,
        "scenario_count": scenario_count,
        "conversation_count": len(evals),
        "conversation_evals": list(evals),
    }


def result_of(report: Report, index: int) -> JsonObject | None:
    """Return the verdict of a live run as the original would write it, or None if there is none."""
    for found in RecordedGoals.all_in(RecordedReport(report)):
        return _verdict(index, [getattr(found, name) for name in RATES], found.rows)
    return None


def results_text(document: Mapping[str, object]) -> str:
    # This is the original's layout, so that its files and ours can be compared as text.
    return json.dumps(document, indent=4)


def conversation_text(trajectories: Trajectories) -> str:
    """Return a conversation as text in the original's format; its first key is the attribution."""
    return json.dumps({"attribution": ATTRIBUTION, "trajectories": trajectories}, indent=4)
