"""What is printed about the judges of natural-language assertions."""

from typing import TYPE_CHECKING

from rich.console import Console

from maseval.cli.console import inert

if TYPE_CHECKING:  # help must not load what makes these
    from maseval.benchmark.tau2.recount.panel import Panel
    from maseval.stats.agreement import Agreement


def print_judges(panel: "Panel", console: Console) -> None:
    """Who was asked how often, and how far they agree."""
    for judge in panel.judges:
        kept = f"{judge.remembered} known from {judge.memory.path.name}"
        words = f"judge {judge.model_id}: {judge.asked} asked, {kept}"
        console.print(f"  {inert(words)}", highlight=False, soft_wrap=True)
    for each in panel.agreements:
        words = (
            f"{each.first} and {each.second} agree on {_agreement(each.assertions)} of the "
            f"assertions and {_agreement(each.verdicts)} of the verdicts"
        )
        console.print(f"  {inert(words)}", highlight=False, soft_wrap=True)


def _agreement(found: "Agreement") -> str:
    if found.share is None:
        return "0 of 0"
    kappa = "undefined" if found.kappa is None else f"{found.kappa:.2f}"
    return f"{found.equal} of {found.total} ({found.share:.1%}, Cohen's kappa {kappa})"
