"""Perturbed runs: what their configuration says, and the mark beside their numbers."""

from collections.abc import Mapping

from maseval.core.recorded import mapping

PERTURB = "perturb"


def perturbation_of(config: Mapping[str, object]) -> str | None:
    """Return what a run was perturbed by: ``faults=0.2``; None if it was not."""
    found = mapping(config, PERTURB)
    if not found:
        return None
    more = next((str(found[key]) for key in ("rate", "file") if key in found), "")
    return f"{found.get('kind')}={more}" if more else str(found.get("kind"))


def mark_of_perturbation(config: Mapping[str, object]) -> str | None:
    """Return the mark that stands beside every number of a perturbed run."""
    how = perturbation_of(config)
    return None if how is None else f"perturbed by {how}, not comparable with published numbers"
