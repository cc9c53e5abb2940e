"""A comparison of runs in the form that the HTML report shows."""

from maseval.app.comparing.compare import RunComparison, summaries_for_plot
from maseval.core.figures import in_points, p_is
from maseval.report.results import ComparedTask, ComparedTrial, compared_tasks
from maseval.stats import Comparison, Difference, cost_and_score, difference_plot, pass_curves


def for_report(found: RunComparison) -> dict[str, object]:
    """Return both runs and their differences as rows, and how sure these are as notes."""
    rows: list[dict[str, object]] = [
        {
            "name": name,
            "tasks": summary.overall.tasks,
            "simulations": summary.overall.planned,
            "verdicts": summary.overall.done,
            **{each.name: each.in_brief() for each in summary.overall.estimates if each.k <= 4},
        }
        for name, summary in found.summaries.items()
    ]
    totals = [each.verdicts for each in found.why.values()]
    notes = [f"Left out: {line}" for line in found.dropped]
    if found.two is not None:
        rows += _difference_rows(found.two)
        notes = [*_verdict_notes(found.two), *notes]
    return {
        "rows": rows,
        "notes": notes,
        "cautions": [*filter(None, [found.texts]), *found.notes, *found.cautions],
        "headline": found.headline,
        "why": [
            [
                row.words(title),
                *(f"{n} of {total}" for n, total in zip(row.counts, totals, strict=True)),
            ]
            for title, several in found.reasons.items()
            for row in several
        ],
    }


def tasks_for_report(found: RunComparison) -> list[ComparedTask]:
    """Return the tasks of two compared runs with their trials, the largest changes first."""
    first, second = (
        [
            (each.key, ComparedTrial(trial=str(each.trial), passed=each.passed))
            for each in sorted(run.outcomes, key=lambda outcome: outcome.trial)
        ]
        for run in found.runs.values()
    )
    return compared_tasks(first, second)


def _difference_rows(two: Comparison) -> list[dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for each in two.differences:
        name = f"difference, {each.group or 'all'}"
        row = rows.setdefault(name, {"name": name, "tasks": each.tasks})
        row[each.name] = _difference_text(each)
    return list(rows.values())


def _difference_text(each: Difference) -> str:
    span = each.interval
    reach = f" ({in_points(span.low)} to {in_points(span.high)})" if span else ""
    return f"{in_points(each.difference)}{reach}, {p_is(each.test.p_value)}"


def _verdict_notes(two: Comparison) -> list[str]:
    first, second = two.names
    main = two.main
    return [
        f"{main.name}: {second} minus {first} is {_difference_text(main)}, in percentage points; "
        f"{main.test.discordant} of {main.tasks} tasks differ. {main.test.method}.",
        two.plan.advice,
    ]


def comparison_plots(found: RunComparison) -> list[str]:
    """Draw pass^k of both, the differences, and cost against score where costs are known."""
    named = summaries_for_plot(found.runs, found.table)
    drawn = [pass_curves(named)]
    if found.two is not None:
        drawn.append(difference_plot(found.two))
    if all(summary.overall.mean_cost for summary in found.summaries.values()):
        drawn.append(cost_and_score(named))
    return drawn
