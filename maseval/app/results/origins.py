"""Where a run comes from that continues a simulation of another one."""

from collections.abc import Mapping

from maseval.core.shapes import mapping

ORIGIN = "origin"
"""The key of a run's configuration that names it."""


def origin_in_words(config: Mapping[str, object]) -> str | None:
    """Which simulation a run continues, and from where; None for a run of its own."""
    origin = mapping(config, ORIGIN)
    if not origin:
        return None
    return (
        f"{origin.get('run')}, {origin.get('task')}, trial {origin.get('trial')}, "
        f"after message {origin.get('at')}"
    )
