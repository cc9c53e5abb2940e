"""Values that the carrier's tools cannot undo."""

from maseval.benchmark.tau2.world.state.permanence import (
    PermanenceRule,
    append_only,
    only_rises,
    stays,
)

PERMANENCE = (
    PermanenceRule(
        "lines", ("data_refueling_gb",), only_rises, "data that was added cannot be taken back"
    ),
    PermanenceRule("bills", ("line_items",), append_only, "an entry on a bill stays there"),
    PermanenceRule("bills", (), stays, "a bill that was opened cannot be removed"),
)
