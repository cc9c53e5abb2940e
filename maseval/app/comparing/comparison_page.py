"""Two runs compared, in the form that the HTML report shows."""

from maseval.app.comparing.compare import RunComparison
from maseval.stats import Comparison, Difference, cost_and_score, difference_plot, pass_curves


def for_report(found: RunComparison) -> dict[str, object]:
    """Both runs and their differences as rows of the results, and how sure these are as notes."""
    rows: list[dict[str, object]] = [
        {
            "name": name,
            "tasks": summary.overall.tasks,
            "simulations": summary.overall.done,
            **{each.name: each.in_brief() for each in summary.overall.estimates if _shown(each.k)},
        }
        for name, summary in found.summaries.items()
    ]
    notes = [*found.cautions, *(f"Left out: {line}" for line in found.dropped)]
    if found.two is not None:
        rows += _difference_rows(found.two)
        notes = [*_verdict(found.two), *notes]
    return {"rows": rows, "notes": notes}


def _shown(k: int) -> bool:
    return k <= 4


def _difference_rows(two: Comparison) -> list[dict[str, object]]:
    rows: dict[str, dict[str, object]] = {}
    for each in two.differences:
        name = f"difference, {each.group or 'all'}"
        row = rows.setdefault(name, {"name": name, "tasks": each.tasks})
        row[each.name] = _difference(each)
    return list(rows.values())


def _difference(each: Difference) -> str:
    span = each.interval
    reach = f" ({100 * span.low:+.1f} to {100 * span.high:+.1f})" if span else ""
    return f"{100 * each.difference:+.1f}{reach}, p = {each.test.p_value:.3g}"


def _verdict(two: Comparison) -> list[str]:
    first, second = two.names
    main = two.main
    return [
        f"{main.name}: {second} minus {first} is {_difference(main)}, in percentage points; "
        f"{main.test.discordant} of {main.tasks} tasks differ. {main.test.method}.",
        two.plan.advice,
    ]


def comparison_plots(found: RunComparison) -> list[str]:
    """pass^k of both, the differences, and cost against score where costs are known."""
    drawn = [pass_curves(found.summaries)]
    if found.two is not None:
        drawn.append(difference_plot(found.two))
    if all(summary.overall.mean_cost for summary in found.summaries.values()):
        drawn.append(cost_and_score(found.summaries))
    return drawn
