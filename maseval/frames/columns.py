"""The tables and their columns, declared once: rows, schemas and the documentation follow these."""

from datetime import datetime
from typing import Literal, NamedTuple

ColumnType = Literal["text", "integer", "number", "boolean", "time"]
Cell = str | int | float | bool | datetime | None
FrameRow = dict[str, Cell]


class Column(NamedTuple):
    """A column of a table; a cell whose value is not known is null."""

    name: str
    type: ColumnType
    meaning: str


class TableForm(NamedTuple):
    """A table: the thing that one row stands for, and the columns in order."""

    name: str
    row: str
    columns: tuple[Column, ...]


_RUN = Column("run", "text", "name of the run; its path where two have the same name")
_SIMULATION = (
    _RUN,
    Column("domain", "text", "the task's domain; empty if the benchmark has none"),
    Column("task_id", "text", "the task"),
    Column("trial", "integer", "number of the trial, from 0"),
)

RUNS = TableForm(
    "runs",
    "a run",
    (
        _RUN,
        Column("path", "text", "where it is"),
        Column("form", "text", "`folder`, `results` (of tau2-bench) or `reports` (saved)"),
        Column("benchmark", "text", "the benchmark, as the configuration names it"),
        Column("version", "text", "the benchmark's rules or release"),
        Column("agent", "text", "the agent, as the configuration names it"),
        Column("user", "text", "the simulated user, as the configuration names it"),
        Column("seed", "integer", "seed of the run"),
        Column("tasks", "integer", "tasks"),
        Column("trials", "integer", "trials per task"),
        Column("planned", "integer", "simulations that were planned"),
        Column("simulations", "integer", "simulations that are there"),
        Column("passed", "integer", "how many passed"),
        Column("failed", "integer", "how many ran to their end and did not pass"),
        Column("errors", "integer", "how many did not run to their end, whoever's fault it was"),
        Column("unjudged", "integer", "how many ran to their end without a verdict"),
        Column("verdicts", "integer", "how many have a verdict; the number is over these"),
        Column("pass_1", "number", "pass^1: share of trials that pass, mean over tasks"),
        Column("pass_1_low", "number", "lower end of its 95% CI, clustered by task"),
        Column("pass_1_high", "number", "upper end of its 95% CI"),
        Column("pass_1_worst", "number", "pass^1 if all that have no verdict fail"),
        Column("pass_1_best", "number", "pass^1 if all that have no verdict pass"),
        Column("estimate", "text", "set if the tasks were chosen, so that pass^1 is no score"),
        Column("cost", "number", "US dollars, of all simulations"),
        Column("tokens", "integer", "input and output tokens of all simulations"),
        Column("started_at", "time", "when the first simulation began"),
        Column("tags", "text", "tags that people gave it, joined by a comma"),
        Column("note", "text", "note that people wrote about it"),
        Column("damaged", "integer", "records that cannot be read"),
        Column(
            "unconfirmed",
            "text",
            "why the record is doubtful: verdicts that do not hold, shuffled task ids, ...; of a "
            "folder, by its last check",
        ),
        Column("pass_1_recorded", "number", "pass^1 as recorded, if the record is doubtful"),
        Column("pass_1_recomputed", "number", "pass^1 recomputed, if the record is doubtful"),
        Column("config", "text", "the whole configuration, as JSON without secrets"),
    ),
)

SIMULATIONS = TableForm(
    "simulations",
    "one trial of a task",
    (
        *_SIMULATION,
        Column("status", "text", "how it ended: `success`, `agent_error`, `task_timeout`, ..."),
        Column("outcome", "text", "`pass`, `fail`, `error` or `unjudged`"),
        Column("passed", "boolean", "whether it passed; null if it has no verdict"),
        Column("reward", "number", "the reward that counts: recomputed if `recomputed`"),
        Column("recorded_reward", "number", "the reward that stands in the folder or file"),
        Column("recomputed", "boolean", "whether `reward` and `passed` were recomputed on reading"),
        Column("reward_breakdown", "text", "reward of each part of the verdict, as JSON"),
        Column("checks", "integer", "checks that were made"),
        Column("checks_met", "integer", "how many of them are met"),
        Column("termination", "text", "why the conversation ended: `user_stop`, `max_steps`, ..."),
        Column("error_type", "text", "type of the error, if there was one"),
        Column("error", "text", "its message, without secrets"),
        Column("started_at", "time", "when it began"),
        Column("seconds", "number", "how long it took"),
        Column("seed", "integer", "its seed"),
        Column("attempts", "integer", "attempts, of which the last one counts"),
        Column("messages", "integer", "messages of the conversation"),
        Column("tool_calls", "integer", "tool calls in it"),
        Column("tool_errors", "integer", "tool calls that returned an error"),
        Column("agent", "text", "name or type of the agent"),
        Column("agent_model", "text", "id of the agent's model; several are joined by a comma"),
        Column("user_model", "text", "id of the simulated user's model"),
        Column("cost", "number", "US dollars, with all attempts; null if a price is not known"),
        Column("agent_cost", "number", "the agent's part of it"),
        Column("user_cost", "number", "the simulated user's part of it"),
        Column("input_tokens", "integer", "tokens read by models"),
        Column("cached_tokens", "integer", "how many of them came from a provider's cache"),
        Column("output_tokens", "integer", "tokens written by models"),
        Column("state_changed", "boolean", "whether the database changed"),
        Column("query", "text", "what the agent was asked"),
        Column("final_answer", "text", "what it answered at last; JSON if that is not a text"),
    ),
)

MESSAGES = TableForm(
    "messages",
    "a message of a simulation",
    (
        *_SIMULATION,
        Column("position", "integer", "its place in the conversation, from 0"),
        Column("speaker", "text", "the agent it belongs to, where there are several"),
        Column("role", "text", "`user`, `assistant`, `tool` or `system`"),
        Column("content", "text", "its text; JSON if it is not one"),
        Column("tool_calls", "integer", "tool calls in it"),
        Column("tool_call_id", "text", "of a tool's answer: the call that it answers"),
        Column("failed", "boolean", "of a tool's answer: whether it is an error"),
        Column("at", "time", "when it was recorded"),
        Column("cost", "number", "US dollars"),
        Column("input_tokens", "integer", "tokens read for it"),
        Column("output_tokens", "integer", "tokens written for it"),
        Column("reasoning_tokens", "integer", "how many of them were thought and not said"),
        Column("reasoning", "text", "what its model thought, as far as the provider shows it"),
    ),
)

TOOL_CALLS = TableForm(
    "tool_calls",
    "a tool call of a simulation",
    (
        *_SIMULATION,
        Column("message", "integer", "`position` of the message that makes the call"),
        Column("position", "integer", "its place among the calls of that message, from 0"),
        Column("speaker", "text", "the agent it belongs to, where there are several"),
        Column("caller", "text", "the role that makes it: `assistant` or `user`"),
        Column("tool", "text", "name of the tool"),
        Column("arguments", "text", "its arguments, as JSON"),
        Column("writes", "boolean", "whether the tool can change the database"),
        Column("answered", "boolean", "whether the tool's answer is recorded"),
        Column("failed", "boolean", "whether the answer is an error"),
        Column("result", "text", "the answer"),
    ),
)

CHECKS = TableForm(
    "checks",
    "a check of a verdict",
    (
        *_SIMULATION,
        Column("evaluator", "integer", "which of the evaluators made it, from 0"),
        Column("position", "integer", "its place among the checks of that evaluator, from 0"),
        Column(
            "kind",
            "text",
            "`DB`, `ENV_ASSERTION`, `ACTION`, `COMMUNICATE`, `NL_ASSERTION`, a judge's own kind; "
            "`VERDICT` for an evaluator that lists no checks",
        ),
        Column("name", "text", "what is checked"),
        Column("met", "boolean", "whether it is met; null if it was not decided"),
        Column("counts", "boolean", "whether the reward depends on it"),
        Column("arguments", "text", "of an action: the expected arguments, as JSON"),
        Column("message", "integer", "of an action: the message with the first call that matches"),
        Column("evidence", "text", "the reason given; of a `VERDICT` all it returned, as JSON"),
    ),
)

POLICY = TableForm(
    "policy",
    "a simulation that was checked against the rules of its policy",
    (
        *_SIMULATION,
        Column("passed", "boolean", "whether it passed, as the benchmark counts"),
        Column("clean", "boolean", "whether the policy was kept; null if that cannot be told"),
        Column("broken", "integer", "breaches that are held against the agent"),
        Column("tried", "integer", "breaches that a tool refused"),
        Column("demanded", "integer", "breaches that the reference solution demands"),
        Column("form", "integer", "breaches of form: several calls at once, a text beside a call"),
        Column("untold", "integer", "rules of which it cannot be told whether they were kept"),
        Column("rules", "text", "rules that are held against the agent, joined by a comma"),
        Column("findings", "text", "all that the rules found, as JSON"),
    ),
)

SOUND = TableForm(
    "sound",
    "a simulation with its sound verdict beside the official one",
    (
        *_SIMULATION,
        Column("passed", "boolean", "whether it passed, as the benchmark counts"),
        Column("failed_by", "text", "who failed: `agent`, `user`, `task`, ...; null if it passed"),
        Column("left_out", "boolean", "whether its task is unsound, so that it does not count"),
        Column("sound_passed", "boolean", "the sound verdict; null if it is left out or has none"),
        Column("reason", "text", "why it is left out, or why its sound verdict is another one"),
    ),
)

SCORES = TableForm(
    "scores",
    "pass^k of a domain of a run, or of all, by what it counts",
    (
        _RUN,
        Column("domain", "text", "the domain, or `all`"),
        Column("counted", "text", "`official`, `without user faults` or `over sound tasks`"),
        Column("k", "integer", "the k of pass^k"),
        Column("value", "number", "pass^k over what counts"),
        Column("low", "number", "lower end of its 95% CI, clustered by task"),
        Column("high", "number", "upper end of its 95% CI"),
        Column("tasks", "integer", "tasks that count"),
        Column("simulations", "integer", "simulations that count"),
        Column("left_out_tasks", "integer", "tasks of which no simulation counts"),
        Column("left_out_simulations", "integer", "simulations with a verdict that do not count"),
        Column("differing_verdicts", "integer", "verdicts that are not the official ones"),
    ),
)

USER_FAULTS = TableForm(
    "user_faults",
    "a fault of the simulated user",
    (
        *_SIMULATION,
        Column("user_model", "text", "model that played the user"),
        Column("passed", "boolean", "whether the simulation passed, as the benchmark counts"),
        Column("kind", "text", "the kind of fault, such as `invented fact`"),
        Column("message", "integer", "the message that shows it"),
        Column("text", "text", "what is wrong"),
        Column("quote", "text", "the words that show it"),
    ),
)

REMARKS = TableForm(
    "remarks",
    "a remark of a reader",
    (
        *_SIMULATION,
        Column("message", "integer", "`position` of the message it is about; null: the whole"),
        Column("opinion", "text", "`agree` or `disagree` with the verdict; null: only a remark"),
        Column("outcome", "text", "the outcome that the reader saw, if there is an opinion"),
        Column("text", "text", "what the reader wrote"),
        Column("written_at", "time", "when it was last changed"),
    ),
)

TABLES = {
    each.name: each
    for each in (
        *(RUNS, SIMULATIONS, MESSAGES, TOOL_CALLS, CHECKS, POLICY, SOUND, SCORES),
        *(USER_FAULTS, REMARKS),
    )
}
