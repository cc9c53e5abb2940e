"""``maseval show``."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Unpack

from rich.console import Console, JustifyMethod
from rich.table import Table

from maseval import commands
from maseval.app.results.explained import cause_in, names_of
from maseval.app.results.recording import (
    judging_in_words,
    notes_on,
    origin_in_words,
    resume_note,
    warnings_on,
)
from maseval.cli.command_line import with_examples
from maseval.cli.console import (
    Parts,
    counting,
    duration,
    here,
    indent,
    inert,
    note,
    print_json,
    print_parts,
    shorten_line,
    stdout,
    styled,
)
from maseval.cli.options import (
    TASK_OF_RUN,
    AsJson,
    Explain,
    RunOrResultsFile,
    argument,
    domain_option,
    flag,
    load_domain,
    with_scoring_options,
)
from maseval.cli.results import MARKS, consumption_of, error_parts, measure_parts, scores
from maseval.core.finding import LEFT_OUT, SOUND_PASS, Finding, Section
from maseval.core.outcome import Outcome, Simulation, TaskKey
from maseval.core.scoring_options import ScoringKeywords, ScoringOptions
from maseval.core.words import count_of, excerpt, money

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.examined import RunFindings
    from maseval.app.results.questions import SimulationView
    from maseval.runs.recording import Recording
    from maseval.runs.verdict_check import VerdictCheck


_LONGEST_FACT = 160


@with_examples(
    ("maseval show last", "the latest run: its numbers, and each task's trials"),
    ("maseval show last retail/12", "one conversation, and why it passed or failed"),
    ("maseval show theirs.json", "a results file of tau2-bench, its rewards recomputed"),
    ("maseval show runs/mine 12 3", "its trial 3"),
    ("maseval show last --failed", "what failed, and for which reason"),
    ("maseval show last --errors", "the errors of tools, by tool and text"),
    ("maseval show last --sound", "which tasks are unsound, and which verdicts that changes"),
)
@with_scoring_options(
    domain=domain_option("Only this domain; one of your own as FILE.py:NAME.", callback=load_domain)
)
def show(
    run: RunOrResultsFile,
    task: Annotated[str | None, TASK_OF_RUN] = None,
    trial: int | None = argument(None, "Which trial.", show_default="first"),
    failed: bool = flag("Only simulations that did not pass.", "--failed"),
    sound: bool = flag("List the unsound tasks, and the verdicts that change.", "--sound"),
    errors: bool = flag("List the errors that tools answered with, by tool and text.", "--errors"),
    explain: Explain = True,
    as_json: AsJson = False,
    **scoring: Unpack[ScoringKeywords],
) -> None:
    """Show a run, or one of its simulations: what was said and done, and the verdict."""
    from maseval.app.results.questions import SimulationView

    if errors:
        _show_tool_errors(run, as_json=as_json, **scoring)
        return

    with counting("explained") as count:
        view = commands.show(
            run,
            task,
            trial,
            failed=failed,
            explain=explain,
            on_progress=count,
            **scoring,
        )
    if as_json:
        print_json(view.to_dict())
    elif isinstance(view, SimulationView):
        print_simulation(view, stdout())
    elif failed or scoring.get("domain"):
        print_parts(_chosen_parts(view), stdout())
    else:
        print_parts(_run_parts(view, sound=sound), stdout())


def _show_tool_errors(run: str, *, as_json: bool, **scoring: Unpack[ScoringKeywords]) -> None:
    from maseval.app.results.names import open_recording  # help must not load it
    from maseval.app.results.questions import tool_errors

    found = tool_errors(open_recording(run, ScoringOptions(**scoring)))
    if as_json:
        print_json({"errors": [each.to_dict() for each in found]})
        return
    table = Table("tool", "text", "times", "simulations", "first in")
    for each in found:
        table.add_row(
            inert(each.tool),
            inert(each.text),
            str(each.times),
            str(each.simulations),
            inert(str(each.first)),
        )
    print_parts([table] if found else ["No tool answered with an error."], stdout())


def _head_parts(view: "RunFindings") -> Parts:
    """Yield what is to be known before the numbers: origin, tags, doubts and warnings."""
    from maseval.runs.annotations import annotations_or_problem  # help must not load it

    config = view.folder.config.values
    noted, unreadable = annotations_or_problem(view.folder.path)
    yield styled(here(view.folder.path), "bold")
    if command := config.get("command"):
        yield styled(command, "dim")
    if origin := origin_in_words(config):
        yield f"Continues {inert(origin)}"
    if earlier := config.get("failed_of"):
        yield f"Only what failed in {inert(str(earlier))}, or had no verdict there"
    if noted.tags:
        yield f"Tags: {inert(', '.join(noted.tags))}"
    if noted.note:
        yield indent(inert(noted.note), 2)
    yield from check_parts(view.check)
    yield from map(note, filter(None, (*notes_on(view.folder), unreadable)))
    yield from (styled(words, "yellow") for words in warnings_on(config))


def _run_parts(view: "RunFindings", *, sound: bool) -> Parts:
    config, check = view.folder.config.values, view.check
    yield from _head_parts(view)
    yield from map(inert, view.checklist.lines() if view.checklist else ())
    yield from map(inert, filter(None, [view.summary.answer]))
    yield scores(view.summary)
    yield indent(styled(view.summary.method, "dim"))
    if resume := resume_note(view.folder, view.summary.overall.missing):
        yield indent(styled(resume, "yellow"))
    if cost := consumption_of(view.summary, config):
        yield cost
    if judging := judging_in_words(view.folder):
        yield inert(judging)
    yield from (styled(f"damaged record, {damage}", "red") for damage in view.folder.damaged)
    yield _trials(view)
    unconfirmed = ", x verdict does not hold" if check and check.differing else ""
    yield f"+ passed, - failed, ! ended by an error, ? no verdict{unconfirmed}"
    yield from error_parts(view.lines)
    yield from _cause_parts(view.causes)
    if view.judged_shares:
        yield "\n[bold]Judged by a model or by people[/bold], not recomputed:"
        yield from (indent(inert(str(each)), 2) for each in view.judged_shares)
    if any(not each.is_official for each in view.scores):
        yield "\n[bold]Additional numbers[/bold] (the official one is above):"
    yield from measure_parts(view.scores)
    if sound:
        yield from _errata_parts(view.findings)
    elif any(not each.same and not each.is_recorded for each in view.scores):
        yield _WHY


def check_parts(check: "VerdictCheck | None") -> Parts:
    """Yield which recorded verdicts do not hold, or why they were not recomputed."""
    if check is not None and (words := check.note_on_recomputed) is not None:
        yield styled(words, "bold red" if check.differing else "yellow")


def _chosen_parts(view: "RunFindings") -> Parts:
    yield styled(here(view.folder.path), "bold")
    yield from check_parts(view.check)
    if view.chosen:
        yield _chosen_table(view)
    yield f"{len(view.chosen)} of {len(view.lines)} simulations"


def _chosen_table(view: "RunFindings") -> Table:
    table = Table("simulation", "", "findings", "ended by")
    for line in view.chosen:
        table.add_row(
            f"{inert(str(line.key))}, trial {line.trial}",
            f"{MARKS[line.kind]} {line.kind}",
            inert(", ".join(_facts(view.findings_on(line)))),
            inert(line.ended or line.status),
        )
    return table


def _facts(findings: Sequence[Finding]) -> list[str]:
    """Return the names of findings, the cause of a failure with the fact that decides it."""
    cause = cause_in(findings)
    names = names_of(findings)
    if cause is None:
        return names
    fact = f"{cause.parties}: {excerpt(cause.text, _LONGEST_FACT)}"
    return [fact if name == cause.name else name for name in names]


def _trials(view: "RunFindings") -> Table:
    """Return a table of the tasks, each in a row."""
    from maseval.app.results.names import task_numbers  # help must not load it

    # By its number a task with a long id can be named; an id that is a number needs no other.
    has_numbers = not all(line.task_id.isdigit() for line in view.lines)
    has_domains = any(line.domain for line in view.lines)
    table = Table()
    columns = ["#"] * has_numbers + ["domain"] * has_domains + ["task", "trials", "passed"]
    for name in columns:
        justify: JustifyMethod = "right" if name in ("#", "passed") else "left"
        table.add_column(name, justify=justify, overflow="fold", no_wrap=name == "#")
    differing = view.check.differing if view.check else {}
    tasks: dict[TaskKey, list[Outcome]] = {}
    for line in view.lines:
        tasks.setdefault(line.key, []).append(line)
    # Of all that was planned: a task that is not recorded yet keeps its number for later.
    numbers = task_numbers([*(one.task for one in view.folder.planned), *tasks])
    for key, lines in tasks.items():
        row = {
            "#": str(numbers[key]),
            "domain": inert(key.domain),
            "task": inert(key.task_id),
            "trials": "".join(
                "[bold red]x[/bold red]" if line.simulation in differing else MARKS[line.kind]
                for line in sorted(lines, key=lambda line: line.trial)
            ),
            "passed": f"{sum(line.kind == 'pass' for line in lines)}/{len(lines)}",
        }
        table.add_row(*map(row.__getitem__, columns))
    return table


def _cause_parts(causes: Mapping[str, int]) -> Parts:
    if not causes:
        return
    failed = count_of(sum(causes.values()), "simulation")
    yield f"\n[bold]Who failed[/bold] in {failed}, by rule:"
    for what, number in causes.items():
        yield indent(f"  {number:>5}  {inert(what)}")
    yield "`maseval show RUN TASK` shows the evidence."


_WHY = "`maseval show RUN --sound` and `maseval comply RUN` show why."


def _errata_parts(findings: Mapping[Simulation, Sequence[Finding]]) -> Parts:
    """Yield each task that is left out of the sound number, and each verdict that differs."""
    # A dict, as the same words about a task stand at each of its trials.
    lines = dict[str, None]()
    for one, each in ((one, each) for one, some in findings.items() for each in some):
        if each.source == "erratum" and each.kind == LEFT_OUT:
            lines[f"[yellow]left out[/yellow] {inert(f'task {one.task}: {each.text}')}"] = None
        elif each.source == "erratum":
            mark = MARKS["pass" if each.kind == SOUND_PASS else "fail"]
            lines[f"{mark} {inert(f'{one.task} trial {one.trial}: {each.text}')}"] = None
    return map(indent, lines)


_WHO = {"assistant": ("Agent", "cyan"), "user": ("User", "magenta"), "system": ("System", "dim")}
_RESULT_LENGTH = 300


def print_simulation(view: "SimulationView", console: Console) -> None:
    """Print the task, the conversation, and the verdict."""
    line = view.line
    name = f"{line.domain} task {line.task_id}".lstrip()
    console.rule(f"{inert(name)}, trial {line.trial}")
    if view.title:
        console.print(styled(view.title, "bold"))
    _print_talk(view.task, view.messages, console)
    print_verdict(view, console)


def print_conversation(folder: "Recording", one: Simulation, console: Console) -> None:
    """Print a conversation, and nothing that anybody thinks of it."""
    from maseval.core.outcome import RecordedReport  # help must not load what reads reports
    from maseval.report.conversation import conversation

    report = folder.report(one)
    console.rule(f"{inert(str(one))}")
    _print_talk(report["task"], conversation(RecordedReport(report)), console)


def _print_talk(
    task: Mapping[str, Any], messages: Sequence[Mapping[str, Any]], console: Console
) -> None:
    if query := task.get("query"):
        words = shorten_line(str(query), 400)
        console.print(f"{styled(f'User instructions: {words}', 'dim')}\n")
    for message in messages:
        for aside in message.get("aside") or ():
            print_parts(_message_parts(aside, margin=4), console)
        print_parts(_message_parts(message), console)


def print_verdict(view: "SimulationView", console: Console) -> None:
    if view.error:
        kind, words = view.error.get("error_type"), str(view.error.get("error_message"))
        console.print(f"{styled(kind, 'red')}: {inert(words)}")
    console.rule("verdict")
    for verdict in view.verdicts:
        print_parts(_verdict_parts(verdict), console)
    if view.doubt:
        print_parts([styled(f"Doubtful: {view.doubt}", "bold red")], console)
    if sections := view.sections:
        console.rule("findings")
        print_parts(section_parts(sections), console)
        console.rule()
    if view.decider:
        console.print(f"The message that decided was {inert(view.decider)}'s.")
    print_parts(_outcome_parts(view), console)


def _message_parts(message: Mapping[str, Any], margin: int = 0) -> Parts:
    """Yield a message; one with a margin was said among the agents of a team."""
    who, colour = _WHO.get(message["who"], (str(message["who"]).capitalize(), "yellow"))
    when = f" [dim]{message['seconds']:.1f} s[/dim]" if "seconds" in message else ""
    number = f"[dim]#{message['index']}[/dim] "
    if speaker := message.get("speaker"):
        who = f"{who} ({speaker})"
    if margin:
        # What an agent of a team reads as its user's words is what another agent asked it.
        who = f"{'to ' if message['who'] == 'user' else ''}{speaker}"
        # Findings refer to the numbers of the conversation, and these messages have none in it.
        when, number, colour = "", "", "blue"
    yield indent(f"{number}[bold {colour}]{inert(who)}[/]{when}", margin)
    if words := message.get("text"):
        yield indent(
            inert(words if not margin else shorten_line(words, _RESULT_LENGTH)), margin + 2
        )
    for call in message.get("calls") or ():
        writes = " [yellow](writes)[/yellow]" if call.get("writes") else ""
        arguments = inert(shorten_line(call["arguments"], _RESULT_LENGTH))
        yield indent(f"→ {styled(call['name'], 'bold')} {arguments}{writes}", margin + 2)
        if (result := call.get("result")) is not None:
            colour = "red" if result["failed"] else "dim"
            answer = shorten_line(result["text"], _RESULT_LENGTH)
            yield indent(styled(f"← {answer}", colour), margin + 4)
    yield ""


def _verdict_parts(verdict: Mapping[str, Any]) -> Parts:
    for name, value in verdict.get("returned", ()):
        yield indent(f"{inert(name)}: {inert(value)}")
    for check in verdict.get("checks", ()):
        mark = MARKS["pass" if check["met"] else "fail"]
        weight = "" if check["counts"] else " [dim](not scored)[/dim]"
        given = f" {shorten_line(check['arguments'], 200)}" if "arguments" in check else ""
        yield indent(f"{mark} {check['kind']}: {inert(check['name'] + given)}{weight}")
        if check.get("evidence"):
            yield indent(styled(check["evidence"], "dim"), 4)
    yield from (indent(inert(each)) for each in verdict.get("notes", ()))


def section_parts(sections: Sequence[Section]) -> Parts:
    """Yield an explanation; wrapped lines keep their margin."""
    for number, section in enumerate(sections):
        if number:
            yield ""
        yield indent(styled(section.title, "bold") if section.lines else inert(section.title))
        for line in section.lines:
            words = line.lstrip(" ")
            yield indent(inert(words), 2 + len(line) - len(words))


def _outcome_parts(view: "SimulationView") -> Parts:
    line = view.line
    reward = "no reward" if line.reward is None else f"reward {line.reward:g}"
    ended = f", ended by {inert(line.ended)}" if line.ended else ""
    cost = f", {money(line.cost)}" if line.cost else ""
    cached = f", {line.cache_in_words}" if line.cache_in_words else ""
    outcome = f"{MARKS[line.kind]} [bold]{line.kind}[/bold], {reward}{ended}"
    code = f", code {inert(line.code)}" if line.code else ""
    yield indent(f"{outcome}, {duration(line.seconds)}{cost}{cached}{code}")
