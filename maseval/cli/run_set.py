"""The runs of a file: prepared, then run one after the other, and summed up at the end.

All cells of a grid have one budget. What one run ends with does not end the others, apart from
Ctrl-C, after which the same command resumes all of them.
"""

import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import typer
from rich.table import Table

from maseval.app.comparing.plan import read_levels
from maseval.app.results.run_summary import RunResult
from maseval.app.running.folder_run import Budget, FolderRun
from maseval.app.running.progress import RunProgress
from maseval.benchmark.tau2.app.running.plan import RunPlan, plan_run
from maseval.benchmark.tau2.app.running.run import Tau2Run
from maseval.cli.command_line import (
    FAILED,
    INCOMPLETE,
    context_of,
    error_text,
    exit_code,
    is_debugging,
    print_error,
)
from maseval.cli.console import (
    chosen_stream,
    duration,
    here,
    inert,
    number_columns,
    print_json,
    stderr,
    stdout,
)
from maseval.cli.results import consumption, estimate, finish
from maseval.cli.run_file import BENCHMARK, FileRun, command_words
from maseval.cli.running import prepare_run
from maseval.cli.tau2.run import about_money, rehearsal_code, show_plan
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.storage.redaction import redact_command
from maseval.core.words import count_of
from maseval.runs.config import RunConfig

_TAU2 = "tau2"


@dataclass
class _Part:
    """One run of the file, and what is known about it so far."""

    run: FileRun
    folder: Path
    words: list[str]
    context: typer.Context
    prepared: FolderRun | None = None
    plan: RunPlan | None = None
    planned: int = 0
    left: int = 0
    used: tuple[float, int] = (0.0, 0)
    estimate: float | None = None
    note: str | None = None
    result: RunResult | None = None
    code: int | None = None
    """The exit code that the run would have by itself; None until it has ended."""
    error: str | None = None

    @property
    def name(self) -> str:
        return self.run.name or self.folder.name

    @property
    def is_tau2(self) -> bool:
        return self.run.options.get(BENCHMARK) == _TAU2

    @property
    def is_rehearsed(self) -> bool:
        return self.is_tau2 or "rehearse" in self.run.options

    @property
    def failure(self) -> str | None:
        """The reason for a run that has not ended well; None if it has."""
        if self.code is None:
            return "not run"
        return f"exit code {self.code}: {self.error or self._reason}" if self.code else None

    @property
    def _reason(self) -> str:
        if self.result is None:
            return "it ended without a result"
        overall, errors = self.result.summary.overall, self.result.errors
        reasons = [self.result.stopped, *(f"{each.status}: {each.error}" for each in errors[:1])]
        if lacking := overall.planned - overall.verdicts:
            reasons.append(f"{lacking} of {overall.planned} simulations have no verdict")
        return "; ".join(filter(None, reasons)) or " ".join(map(str.strip, self.result.notes))

    def to_dict(self) -> dict[str, Any]:
        cell = {"cell": dict(self.run.cell)} if self.run.cell else {}
        folder = str(self.folder.absolute())
        return {"folder": folder, "name": self.name, **cell, "error": self.failure}


@dataclass
class RunSet:
    """The runs of one file; ``player`` is the scripted model of a rehearsal."""

    path: Path
    parts: list[_Part]
    player: str | None
    as_json: bool
    began: float = field(default_factory=time.monotonic)

    @classmethod
    def of(
        cls,
        path: Path,
        runs: Sequence[FileRun],
        context: typer.Context,
        player: str | None = None,
        *,
        as_json: bool = False,
    ) -> "RunSet":
        """Check the options of all runs before the first one begins."""
        parts = []
        for run in runs:
            with _named_in_errors(path, run):
                words = command_words(run, path)
                parts.append(_Part(run, run.folder(path), words, context_of(context, words)))
        return cls(path, parts, player, as_json)

    @property
    def folder(self) -> Path:
        """The folder of a grid; raise if the file has none, or if nothing has run yet."""
        folder = self.parts[0].folder.parent
        if not self.parts[0].run.cell:
            raise ConfigurationError(
                f"{self.path} has no [grid]; name a run, or the file of a grid"
            )
        if not folder.is_dir():
            raise ConfigurationError(
                f"no cell of {self.path} has run yet; state the pass rate (--rate 60), or run a "
                f"pilot: maseval run {self.path} --trials 2 --num-tasks 10"
            )
        return folder

    def compared_tasks(self, between: str) -> tuple[int, float]:
        """Return the number of tasks of two levels, and in how many cells of a level each is."""
        factor, *levels = read_levels(between, [each.run.cell for each in self.parts])
        sides = [set[tuple[object, str, str]](), set[tuple[object, str, str]]()]
        for part in self.parts:
            cell = dict(part.run.cell)
            if (level := cell.pop(factor, None)) in levels:
                self._prepare(part)
                if part.prepared is None or part.error:
                    raise ConfigurationError(f"{part.name}: {part.failure}")
                others = frozenset(cell.items())
                planned = RunConfig.of(part.prepared.config).planned
                sides[levels.index(level)] |= {(others, e.domain, e.task_id) for e in planned}
        # Levels are compared where the task and the levels of all other factors are the same.
        shared = sides[0] & sides[1]
        tasks = {(domain, task) for _, domain, task in shared}
        if not tasks:
            raise ConfigurationError(f"no two cells of {self.path} differ in {factor} alone")
        return len(tasks), len(shared) / len(tasks)

    @property
    def _budget(self) -> Budget | None:
        # An option of the whole file, so that every run of it has the same.
        given = self.parts[0].run.options.get("budget")
        return None if given is None else Budget.of(str(given))

    def show_plan(self) -> int:
        """Print what would run, and about what it would cost."""
        for part in self.parts:
            self._prepare(part, plans=True)
        # A single run has room for the plan of each of its models.
        if len(self.parts) == 1 and self.parts[0].plan is not None:
            show_plan(self.parts[0].plan, as_json=self.as_json)
            return 0
        left = [each for each in self.parts if each.left]
        known = [each.estimate for each in left if each.estimate is not None]
        # A sum that lacks a run would be taken for the price of all of them.
        cost = sum(known) if len(known) == len(left) else None
        if self.as_json:
            facts = ("planned", "left", "estimate", "note")
            runs = [each.to_dict() | {k: getattr(each, k) for k in facts} for each in self.parts]
            print_json({"runs": runs, "cost": cost})
        else:
            table = Table("run", *number_columns("simulations", "left to run", "cost"))
            for each in self.parts:
                price = about_money(each.estimate if each.left else 0.0)
                counts = (str(each.planned), str(each.left), price)
                table.add_row(inert(each.name), *(("", "", "refused") if each.code else counts))
            table.add_section()
            sums = [sum(getattr(e, name) for e in self.parts) for name in ("planned", "left")]
            more = f"{about_money(sum(known))} and " if cost is None and any(known) else ""
            table.add_row("all", *map(str, sums), f"{more}{about_money(cost)}")
            stdout().print(table)
            self._print_failures([each for each in self.parts if each.code or each.note])
            stdout().print("Nothing was run: leave out --dry-run to start.")
        return max(each.code or 0 for each in self.parts)

    def execute(self) -> int:
        """Run what is missing in each folder, and return the largest exit code."""
        # All are prepared before the first one runs: a fault in the last costs nothing yet.
        for part in self.parts:
            self._prepare(part)
            self._print_error(part)
        for part in self.parts:
            if part.code is None and not self._run(part):
                break
        # A script expects a line for every run, also for those that were refused.
        for part in self.parts if self.as_json else ():
            if part.result is None:
                print_json(part.to_dict())
        if len(self.parts) > 1 and not self.as_json:
            self._print_results()
        # A run that never began is as incomplete as one that was stopped.
        codes = [INCOMPLETE if each.code is None else each.code for each in self.parts]
        # A rehearsal passes or fails; finer codes are for runs that can be resumed.
        return min(max(codes), FAILED) if self.player else max(codes)

    def _prepare(self, part: _Part, *, plans: bool = False) -> None:
        """Prepare a run, which finds what would make it fail, and how much there is to do."""
        with _named_in_errors(self.path, part.run), self._ending(part):
            part.prepared = self._prepared(part)
            if plans and part.is_tau2:
                part.plan = plan = plan_run(cast(Tau2Run, part.prepared))
                part.planned = plan.trials * sum(map(len, plan.tasks.values()))
                part.left, part.estimate = plan.left, plan.cost
                part.note = f"would be refused: {plan.problems[0]}" if plan.problems else None
            else:
                part.prepared.check()
                part.planned, part.left, part.used = part.prepared.outlook()
        if self.player and not part.is_rehearsed and part.code is None:
            part.code, part.note = 0, "only prepared: no scripted model can play it"

    def _prepared(self, part: _Part, **more: Any) -> FolderRun:
        # A rehearsal is no part of the experiment.
        cell = part.run.cell if part.run.cell and self.player is None else None
        # The command that would make this run alone, which its folder remembers.
        command = redact_command([str(part.context.find_root().info_name), *part.words])
        return prepare_run(part.context, command=command, cell=cell, **more)

    @contextmanager
    def _ending(self, part: _Part) -> Iterator[None]:
        """Let whatever a run ends with not end the others."""
        try:
            yield
        except typer.Exit as done:
            part.code = done.exit_code
        # What was typed wrong was typed for every run of the file.
        except typer.BadParameter:
            raise
        except (MASEvalError, OSError) as error:
            part.code, part.error = exit_code(error), error_text(error)
        except Exception as error:  # of somebody's own code: the other runs go on
            if is_debugging(part.context):
                raise
            part.code, part.error = FAILED, f"{type(error).__name__}: {error}"

    def _run(self, part: _Part) -> bool:
        """Run one of them; returns False if it was interrupted."""
        others = [each.used for each in self.parts if each is not part]
        cost, tokens = sum(each[0] for each in others), sum(each[1] for each in others)
        more: dict[str, Any] = {}
        if (budget := self._budget) is not None:
            more["used_elsewhere"] = cost, tokens
            now = cost + part.used[0], tokens + part.used[1]
            # What other cells spent counts as well: this one may not even begin.
            if part.left and (reason := budget.objection(*now, priced=True)):
                part.code, part.error = INCOMPLETE, reason
                return True
        head = self._head(part, cost)
        # It is prepared anew with the display of this run, which knows how far the others are.
        part.prepared = None
        with self._ending(part):
            part.result = self._prepared(part, head=head, **more).execute()
            stream, debug = chosen_stream(self.as_json), is_debugging(part.context)
            shown = {"as_json": self.as_json, "with_scores": not head, "with_next": not head}
            finish(part.result, stream, debug=debug, **shown)
            part.code = rehearsal_code(part.result, part.context.params.get("allow") or ())
        self._print_error(part)
        if part.result is None:
            return True
        summary = part.result.summary
        part.used, part.left = (summary.cost or 0.0, summary.tokens), part.result.resumable
        if self.player is not None:
            # The reference solution passes every task, unless something was lost on the way.
            lost = self.player == "gold" and summary.overall.passed < summary.overall.verdicts
            if part.result.checklist:  # which has the lost tasks, and what is allowed
                lost = bool(part.code)
            # No judge takes part in a rehearsal.
            whole = summary.overall.verdicts + summary.unjudged == summary.overall.planned
            part.code = (part.code or FAILED) if lost else 0 if whole else INCOMPLETE
        return not part.result.interrupted

    def _head(self, part: _Part, cost: float) -> Callable[[RunProgress], str] | None:
        others = [each for each in self.parts if each is not part]
        done, planned = sum(e.planned - e.left for e in others), sum(e.planned for e in others)
        place = f"{part.name}, run {self.parts.index(part) + 1} of {len(self.parts)}"

        def head(now: RunProgress) -> str:
            used = consumption((now.cost or 0.0) + cost, 0)
            whole = f"{now.done + done}/{now.planned + planned} done"
            return f"{place}; all runs: {', '.join(filter(None, (whole, used)))}"

        return head if others else None

    def _print_error(self, part: _Part) -> None:
        if part.error is not None:
            print_error(f"{part.name}: {part.error}" if len(self.parts) > 1 else part.error)

    def _print_results(self) -> None:
        console, finished = stdout(), [each for each in self.parts if each.result is not None]
        rows = [
            (
                inert(each.name),
                f"{summary.overall.verdicts}/{summary.overall.planned}",
                estimate(summary.overall.pass_hat.get(1)),
                consumption(summary.cost, summary.tokens),
            )
            for each in finished
            if each.result and (summary := each.result.summary)
        ]
        columns = ["verdicts", "pass^1", "cost"][: 3 if any(row[3] for row in rows) else 2]
        table = Table("run", *number_columns(*columns, no_wrap=True))
        for row in rows:
            table.add_row(*row[: 1 + len(columns)])
        if finished:
            console.print(table)
        self._print_failures(self.parts)
        ran = sum(each.result.ran for each in finished if each.result)
        words = f"{count_of(ran, 'simulation')} in {duration(time.monotonic() - self.began)}"
        console.print(f"{words}, {len(finished)} of {count_of(len(self.parts), 'run')}")
        # A rehearsal says nothing about which system is better.
        if len(finished) > 1 and not self.player:
            folder = shlex.quote(here(self.parts[0].folder.parent))
            console.print(f"maseval compare {inert(folder)}", soft_wrap=True)

    def _print_failures(self, parts: Sequence[_Part]) -> None:
        for each in parts:
            if note := each.note or each.failure:
                stdout().print(
                    f"[yellow]{inert(each.name)}: {inert(note)}[/yellow]", soft_wrap=True
                )


@contextmanager
def _named_in_errors(path: Path, run: FileRun) -> Iterator[None]:
    try:
        yield
    except Exception:
        where = f"{path}, run {run.name}" if run.name else str(path)
        stderr().print(f"[bold]{inert(where)}:[/bold]")
        raise


# What costs something, or means nothing where a scripted model plays.
_LEFT_OUT = frozenset(
    {
        "budget",
        "judge_model",
        "margin",
        "trials",
        "until",
        "user_args",
        "user_model",
    }
)
_OF_MODELS = frozenset({"agent_args", "agent_model", "mode", "reasoning"})


def rehearsed(run: FileRun, player: str, path: Path) -> FileRun:
    """Return a run with the scripted model: of tau2, or of an agent of somebody's own.

    Of tau2, an agent without a model that could be replaced is replaced by the player itself. The
    folder is another one, and what differs from an earlier rehearsal starts anew.
    """
    is_tau2 = run.options.get(BENCHMARK) == _TAU2
    if not is_tau2 and ":" not in str(run.options.get("agent", "")):
        return run
    options = {name: value for name, value in run.options.items() if name not in _LEFT_OUT}
    if ":" in str(options.get("agent", "")):
        options["rehearse"] = player
    else:
        options = {name: value for name, value in options.items() if name not in _OF_MODELS}
        options["agent"] = player
    # The folder of the whole file, as the name of the cell is added below the new one.
    folder = run._replace(name=None).folder(path)
    output = folder.with_name(f"{folder.name}-rehearsed-{player}")
    options |= {"fork": True, "output": str(output), **({"user": "scripted"} if is_tau2 else {})}
    return run._replace(options=options)
