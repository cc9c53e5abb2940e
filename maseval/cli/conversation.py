"""One simulation in the terminal, read from top to bottom."""

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console

from maseval.cli.console import Parts, duration, indent, inert, print_parts, shorten_line, styled
from maseval.cli.results import MARKS
from maseval.core.figures import money

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.app.results.explained import Section
    from maseval.app.results.show import SimulationView

_WHO = {"assistant": ("Agent", "cyan"), "user": ("User", "magenta"), "system": ("System", "dim")}
_RESULT_LENGTH = 300
_EMPHASIS = (
    (re.compile(r"\b(FAILED|NOT MET)\b"), r"[red]\1[/red]"),
    (re.compile(r"^(agent|user|task|infrastructure|unclear): ([^()]+)"), r"[bold]\1: \2[/bold]"),
)


def print_simulation(view: "SimulationView", console: Console, *, full: bool = False) -> None:
    """Print the task, the conversation, its changes, and the verdict."""
    line = view.line
    name = f"{line.domain} task {line.task_id}".lstrip()
    console.rule(f"{inert(name)}, trial {line.trial}")
    if view.title:
        console.print(styled(view.title, "bold"))
    if query := view.task.get("query"):
        words = str(query) if full else shorten_line(str(query), 400)
        console.print(f"{styled(f'User instructions: {words}', 'dim')}\n")
    for message in view.messages:
        print_parts(_message_parts(message, None if full else _RESULT_LENGTH), console)
    print_verdict(view, console)


def print_verdict(view: "SimulationView", console: Console) -> None:
    """Print the changes that the conversation made, the verdict, and its explanation."""
    console.rule("what changed")
    for change in view.changes:
        changed = "[bold]changed[/bold]" if change["changed"] else "unchanged"
        console.print(f"{inert(str(change['name']))}: {changed}")
    if view.error:
        kind, words = view.error.get("error_type"), str(view.error.get("error_message"))
        console.print(f"{styled(kind, 'red')}: {inert(words)}")
    console.rule("verdict")
    for verdict in view.verdicts:
        print_parts(_verdict_parts(verdict), console)
    if view.doubt:
        print_parts([styled(f"Doubtful: {view.doubt}", "bold red")], console)
    print_parts((inert(str(remark)) for remark in view.remarks), console)
    if sections := view.sections:
        console.rule("findings")
        print_parts(section_parts(sections), console)
        console.rule()
    print_parts(unexplained_parts(view.unexplained), console)
    print_parts(_outcome_parts(view), console)


def unexplained_parts(why: str | None) -> Parts:
    """Yield why failures are not explained, if that is so."""
    if why:
        yield styled(f"Note: {why}", "yellow")


def _message_parts(message: Mapping[str, Any], limit: int | None) -> Parts:
    who, colour = _WHO.get(message["who"], (str(message["who"]).capitalize(), "yellow"))
    when = f" [dim]{message['seconds']:.1f} s[/dim]" if "seconds" in message else ""
    if speaker := message.get("speaker"):
        who = f"{who} ({speaker})"
    yield f"[dim]#{message['index']}[/dim] [bold {colour}]{inert(who)}[/]{when}"
    if words := message.get("text"):
        yield indent(inert(words), 2)
    for call in message.get("calls") or ():
        writes = " [yellow](writes)[/yellow]" if call.get("writes") else ""
        arguments = inert(_limit(call["arguments"], limit))
        yield indent(f"→ {styled(call['name'], 'bold')} {arguments}{writes}", 2)
        if (result := call.get("result")) is not None:
            colour = "red" if result["failed"] else "dim"
            yield indent(styled(f"← {_limit(result['text'], limit)}", colour), 4)
    yield ""


def _limit(text: str, limit: int | None) -> str:
    return text if limit is None else shorten_line(text, limit)


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


def section_parts(sections: "Sequence[Section]") -> Parts:
    """Yield an explanation; wrapped lines keep their margin."""
    for number, section in enumerate(sections):
        if number:
            yield ""
        title = _emphasise(section.title)
        plain = title != inert(section.title) or not section.lines
        yield indent(title if plain else f"[bold]{title}[/bold]")
        for line in section.lines:
            words = line.lstrip(" ")
            yield indent(_emphasise(words), 2 + len(line) - len(words))


def _emphasise(words: str) -> str:
    shown = inert(words)
    for pattern, replacement in _EMPHASIS:
        shown = pattern.sub(replacement, shown)
    return shown


def _outcome_parts(view: "SimulationView") -> Parts:
    line = view.line
    reward = "no reward" if line.reward is None else f"reward {line.reward:g}"
    ended = f", ended by {inert(line.ended)}" if line.ended else ""
    cost = f", {money(line.cost)}" if line.cost else ""
    cached = f", {line.cache_in_words}" if line.cache_in_words else ""
    outcome = f"{MARKS[line.outcome]} [bold]{line.outcome}[/bold], {reward}{ended}"
    yield indent(f"{outcome}, {duration(line.seconds)}{cost}{cached}")
    if len(view.trials) > 1:
        marks = ", ".join(f"{each.trial} {MARKS[each.outcome]}" for each in view.trials)
        yield indent(f"all trials: {marks}")
