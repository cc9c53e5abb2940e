"""``maseval tau2 tasks``, ``data``, ``audit`` and ``errata``: the benchmark itself."""

import os
from itertools import dropwhile, groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich.table import Column, Table

from maseval import commands
from maseval.benchmark.tau2.app.running.options import DATA_VERSION, ConversationOptions
from maseval.benchmark.tau2.data import VERSIONS_IN_WORDS, title_of
from maseval.cli.command_line import FAILED, INCOMPLETE, with_examples
from maseval.cli.console import (
    Parts,
    act_on_data,
    counting,
    indent,
    inert,
    number_columns,
    print_parts,
    print_result,
    shorten_line,
    stdout,
    styled,
)
from maseval.cli.options import (
    NAMED_DOMAINS,
    ONLY_DOMAINS,
    AsJson,
    argument,
    flag,
    option,
    option_like,
)
from maseval.core.words import count_of, first_few, money, visible

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.app.results.audit import Audit, ErrataFound
    from maseval.benchmark.tau2.app.running.rewording import RewordedTasks
    from maseval.benchmark.tau2.review.audit import TaskFinding


SPLIT = option_like(ConversationOptions, "split")
TASKS_VERSION = option_like(ConversationOptions, "data_version")


@with_examples(
    ("maseval tau2 tasks", "the base tasks of airline, retail and telecom"),
    ("maseval tau2 tasks --domain telecom --split small", "another set"),
    ("maseval tau2 tasks --domain airline --ids", "only ids, for scripts"),
    ("maseval tau2 tasks retail/12", "a task: the user instructions, what is scored"),
    ("maseval tau2 tasks telecom tools", "what the agent and the user can do"),
    ("maseval tau2 tasks airline policy", "what the agent must obey"),
    (
        "maseval tau2 tasks airline --reword reworded.json --model openai/gpt-4.1",
        "other words for the customers, for --perturb prompt=reworded.json",
    ),
)
def tasks(
    named: list[str] | None = argument(
        None,
        "Domains, or your own: FILE.py:NAME; then a task, tools or policy.",
        metavar="DOMAIN... WHAT",
    ),
    domain: list[str] | None = ONLY_DOMAINS,
    split: str = SPLIT,
    data_version: str = TASKS_VERSION,
    ids: bool = flag("Print only domain/id, one per line.", "--ids"),
    reword: Path | None = option(
        None, "Let --model reword the customers' instructions into this file, for --perturb prompt."
    ),
    model: str | None = option(
        None, "With --reword: the model; MASEVAL_BASE_URL names a server of your own."
    ),
) -> None:
    """List tasks, or show one of them, or a domain's tools or policy."""
    from maseval.benchmark.tau2.domains import is_domain  # help must not load it

    # Words are domains up to the first that is none, which names a task, the tools or the policy.
    words = list(dropwhile(lambda word: is_domain(word) or ".py:" in word, named or ()))
    names = [*(named or ())[: len(named or ()) - len(words)], *(domain or ())]
    if words:
        if len(names) > 1:
            raise typer.BadParameter(f"{words[0]!r} is of one domain, and {len(names)} are named")
        if len(words) > 1:
            raise typer.BadParameter(f"{words[1]!r} is one argument too many after {words[0]!r}")
        domain_of_it = names[0] if names else None
        told = commands.tau2.show(words[0], domain_of_it, data_version=data_version)
        # Texts of anybody's domain must not move the cursor.
        typer.echo(visible(told))
        return
    if reword is not None:
        return _reword_tasks(names, model, reword, data_version)
    chosen = {"domain": names} if names else {}
    found = commands.tau2.tasks(**chosen, split=split, data_version=data_version)
    if ids:
        for task in found:
            typer.echo(f"{task.domain}/{task.task_id}")
        return
    texts = (Column(name, overflow="fold") for name in ("domain", "task", "the customer's reason"))
    number, actions = number_columns("#", "actions", no_wrap=True)
    table = Table(number, *texts, actions, "judged by")
    for task in found:
        table.add_row(
            str(task.number),
            inert(task.domain),
            inert(task.task_id),
            inert(shorten_line(task.reason or task.purpose, 100)),
            str(task.actions),
            " ".join(task.reward_basis),
        )
    stdout().print(table)
    stdout().print(f"{count_of(len(found), 'task')} of tau2-bench {data_version}")


@with_examples(
    ("maseval tau2 data fetch", "fetch all files, once"),
    ("maseval tau2 data texts", "fetch the prompts of the original, once"),
    ("maseval tau2 data verify", "compare every file with its checksum"),
    ("ls $(maseval tau2 data path)", "look at them"),
)
def data(
    action: str = argument(..., "fetch, texts, verify or path."),
    domain: str | None = option(None, "Only this domain; for fetch.", "--domain", "-d"),
    force: bool = flag("Fetch again what is already there.", "--force"),
    version: str | None = option(
        None,
        f"Release of tau2-bench, for fetch and texts: {VERSIONS_IN_WORDS}.",
        "--data-version",
        show_default="0.2.0",
    ),
) -> None:
    """Fetch the benchmark's files or texts, verify them, or print the folder they are kept in."""
    if action == "texts" and not (domain or force):
        found = commands.tau2.data.texts(version or DATA_VERSION)
        typer.echo(f"{title_of(found.version)} {found.sha256}")
        return
    given = {"domain": domain, "force": force, "version": version}
    act_on_data(commands.tau2.data, "maseval tau2", action, given)


_COLOURS = {"error": "red", "warning": "yellow", "info": "dim"}
_WORSE_OR_EQUAL = {"error": ("error",), "warning": ("error", "warning")}


@with_examples(
    ("maseval tau2 audit", "airline, retail and telecom: where to read numbers with care"),
    ("maseval tau2 audit library", "another domain, or one of your own"),
    ("maseval tau2 audit retail --show 15", "one task: what was tried, and what happened"),
    ("maseval tau2 audit shop.py:SHOP --fail-on warning", "in the tests of a domain of your own"),
)
def audit(
    named: list[str] | None = NAMED_DOMAINS,
    domain: list[str] | None = ONLY_DOMAINS,
    split: str = SPLIT,
    data_version: str = TASKS_VERSION,
    show: str | None = option(
        None, "Only this task, with what was tried and what happened.", metavar="TASK"
    ),
    fail_on: str | None = option(
        None, "Exit with code 1 at a finding this severe or worse: error or warning."
    ),
    as_json: AsJson = False,
) -> None:
    """Proof-read a benchmark: is a right answer sure to pass, and a wrong one not?

    Errors and warnings are listed; --show and --json have findings of severity info as well.
    """
    if fail_on is not None and fail_on not in _WORSE_OR_EQUAL:
        raise typer.BadParameter(f"--fail-on is {fail_on!r}; give error or warning")
    names = [*(named or ()), *(domain or ())]
    chosen = {"domain": names} if names else {}
    with counting("looked at", "tasks") as count:
        found = commands.tau2.audit(
            **chosen,
            split=split,
            data_version=data_version,
            show=show,
            on_progress=count,
        )
    print_result(found, _audit_parts(found, in_detail=show is not None), as_json)
    if fail_on and any(found.counts[each] for each in _WORSE_OR_EQUAL[fail_on]):
        raise typer.Exit(FAILED)


def _audit_parts(found: "Audit", *, in_detail: bool) -> Parts:
    if in_detail:
        yield from (part for each in found.findings for part in _detailed_parts(each))
        yield _sum_up_audit(found, [*_COLOURS])
        return
    listed = [each for each in found.findings if each.severity != "info"]
    # Findings come ordered by severity and kind, so that groupby meets each kind once.
    for _, alike in groupby(listed, key=lambda each: (each.severity, each.kind)):
        findings = list(alike)
        kind = styled(findings[0].kind, f"bold {_COLOURS[findings[0].severity]}")
        yield indent(f"{kind}: {inert(findings[0].meaning)}")
        for each in findings:
            yield indent(inert(f"{each.place}: {shorten_line(each.text, 400)}"), 2)
        yield ""
    yield _sum_up_audit(found, ["error", "warning"])


def _detailed_parts(finding: "TaskFinding") -> Parts:
    """Yield a finding with the gold's call, and with what was tried and what happened."""
    kind = styled(finding.kind, f"bold {_COLOURS[finding.severity]}")
    yield f"{kind} ({inert(finding.place)}): {inert(finding.text)}"
    for line in ([f"gold: {finding.call}"] if finding.call else []) + [*finding.evidence]:
        yield indent(inert(line), 2)
    yield ""


def _sum_up_audit(found: "Audit", severities: list[str]) -> str:
    counts = {name: found.counts[name] for name in severities if found.counts[name]}
    if not counts:
        where = f"{', '.join(found.domains)}{found.of_release}"
        return f"nothing of severity {severities[-1]} or worse in {where}"
    listed = ", ".join(f"{number} of severity {name}" for name, number in counts.items())
    number = count_of(sum(counts.values()), "finding")
    return f"{number} in {', '.join(found.domains)}{found.of_release}: {listed}"


_MOST_TASKS = 4


@with_examples(
    ("maseval tau2 errata", "all known errors of the benchmark"),
    ("maseval tau2 errata --domain retail --data-version verified", "of one domain and release"),
)
def errata(
    named: list[str] | None = NAMED_DOMAINS,
    domain: list[str] | None = ONLY_DOMAINS,
    data_version: str = TASKS_VERSION,
    as_json: AsJson = False,
) -> None:
    """List what is known to be wrong in tasks, and what a sound verdict would be."""
    found = commands.tau2.errata([*(named or ()), *(domain or ())], data_version=data_version)
    print_result(found, _errata_parts(found), as_json)


def _errata_parts(found: "ErrataFound") -> Parts:
    for (name, kind, what, verdict), alike in groupby(
        found.errata, key=lambda each: (each.domain, each.kind, each.what, str(each.sound_verdict))
    ):
        same = list(alike)
        tasks = first_few((each.task for each in same), _MOST_TASKS)
        mark = "remark, " if same[0].is_remark else ""
        yield indent(f"{styled(f'{name} {tasks}', 'bold')}: {mark}{inert(kind)}")
        yield indent(inert(f"{what}\nSound verdict: {verdict}."), 2)
    yield indent(inert(_sum_up_errata(found)))


def _sum_up_errata(found: "ErrataFound") -> str:
    where = f"tau2-bench {found.data_version}"
    if not found.errata:
        return f"no known errors in {', '.join(found.domains)} of {where}"
    left_out = len({(e.domain, e.task) for e in found.errata if e.sound_verdict.leave_out})
    remarks = sum(each.is_remark for each in found.errata)
    number = len(found.errata) - remarks
    tasks = len({(each.domain, each.task) for each in found.errata})
    return (
        f"{number} {'erratum' if number == 1 else 'errata'} and {count_of(remarks, 'remark')} in "
        f"{count_of(tasks, 'task')} of {where}; a remark changes no verdict; "
        f"tasks left out of the sound number: {left_out}"
    )


def _reword_tasks(domains: list[str], model: str | None, file: Path, data_version: str) -> None:
    if len(domains) != 1 or model is None:
        raise typer.BadParameter("--reword takes one domain and a --model")
    address = os.environ.get("MASEVAL_BASE_URL") or None
    found = commands.tau2.reword(
        domains[0], model, file, data_version=data_version, base_url=address
    )
    print_parts(_reworded_parts(found), stdout())
    if found.failed:
        raise typer.Exit(INCOMPLETE)


def _reworded_parts(found: "RewordedTasks") -> Parts:
    for task, lost in found.failed.items():
        yield styled(f"{task}: not reworded, three answers lacked {', '.join(lost)}", "yellow")
    yield inert(
        f"{count_of(found.reworded, 'task')} reworded in {found.path}, cost {money(found.cost)}"
    )
