"""A gate's verdict as Markdown, for a pull request or the summary of a job."""

from collections.abc import Sequence
from urllib.parse import quote

from maseval.app.comparing.gate import Gate, cautions_of
from maseval.core.outcome import TaskKey
from maseval.stats import Difference, Flip

# A comment on GitHub holds 65,536 characters; a reader holds less.
_MOST_TASKS = 20
_MOST_CAUTIONS = 10
_LONGEST = 200


def markdown(gate: Gate, report_url: str | None = None) -> str:
    """The verdict, the numbers, the tasks that changed and what may explain it otherwise.

    ``report_url`` is where the HTML report of the run can be read; tasks then link into it.
    """
    parts = [
        _headline(gate),
        _numbers(gate),
        _flips("Tasks that pass less often", gate.fell, gate, report_url),
        _flips("Tasks that pass more often", gate.rose, gate, report_url),
        _cautions(cautions_of(gate)),
        _method(gate),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _headline(gate: Gate) -> str:
    mark, words = (
        ("❌", "worse than") if gate.verdict == "worse" else ("✅", "not shown worse than")
    )
    first, second = map(inline, gate.two.names)
    found = gate.main
    return (
        f"### {mark} {second} is {words} {first}\n\n"
        f"{found.name} {found.first:.1%} → **{found.second:.1%}**: {_difference(found)} percentage "
        f"points on {found.tasks} tasks"
    )


def _difference(found: Difference) -> str:
    span = found.interval
    reach = "" if span is None else f" [{100 * span.low:+.1f}, {100 * span.high:+.1f}]"
    return f"{100 * found.difference:+.1f}{reach}"


def _numbers(gate: Gate) -> str:
    first, second = map(inline, gate.two.names)
    rows = [
        [
            inline(each.group or "all"),
            each.name,
            str(each.tasks),
            f"{each.first:.1%}",
            f"{each.second:.1%}",
            _difference(each),
            f"{each.test.p_value:.2g}",
        ]
        for each in gate.two.differences
        if each.measure == gate.main.measure
    ]
    return _table(["", "", "tasks", first, second, "difference", "p"], rows)


def _flips(title: str, flips: Sequence[Flip], gate: Gate, report_url: str | None) -> str:
    if not flips:
        return ""
    first, second = map(inline, gate.two.names)
    rows = [
        [
            _named(gate, TaskKey(flip.group, flip.task), report_url),
            f"{flip.first.passed}/{flip.first.total}",
            f"{flip.second.passed}/{flip.second.total}",
        ]
        for flip in flips[:_MOST_TASKS]
    ]
    more = len(flips) - len(rows)
    rest = f"\n\n… and {more} more" if more > 0 else ""
    table = _table(["task", first, second], rows)
    return f"<details><summary>{title}: {len(flips)}</summary>\n\n{table}{rest}\n\n</details>"


def _named(gate: Gate, key: TaskKey, report_url: str | None) -> str:
    if report_url is None:
        return inline(str(key))
    return f"[{inline(str(key))}]({simulation_link(gate, key, report_url)})"


def simulation_link(gate: Gate, key: TaskKey, report_url: str) -> str:
    """The address of the trial in the report that says most about a task."""
    trial = gate.shown_trial(key).trial
    name = "/".join(part for part in (key.group, key.task, str(trial)) if part)
    address = quote(report_url, safe=":/?&=%@~+", errors="replace")
    return f"{address}#{quote(name, errors='replace')}"


def _cautions(lines: Sequence[str]) -> str:
    shown = [f"- {inline(line)}" for line in lines[:_MOST_CAUTIONS]]
    more = len(lines) - len(shown)
    return "\n".join([*shown, *([f"- … and {more} more"] if more > 0 else [])])


def _method(gate: Gate) -> str:
    beyond = f" by more than {100 * gate.margin:g} points" if gate.margin else ""
    return (
        f"<sub>Worse{beyond} means: {gate.main.test.method}, one-sided p ≤ {gate.alpha:g}, and the "
        f"{1 - 2 * gate.alpha:.0%} interval lies below {0 - 100 * gate.margin:g}. p is two-sided. "
        f"{inline(gate.two.plan.advice)}</sub>"
    )


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def inline(text: str) -> str:
    """Text of others on one line, in which nothing is taken for Markdown or HTML."""
    flat = " ".join(text.split())[:_LONGEST]
    plain = "".join(char for char in flat if char.isprintable())
    escaped = "".join(f"\\{char}" if char in "\\`*_{}[]()#+!|~@" else char for char in plain)
    return escaped.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
