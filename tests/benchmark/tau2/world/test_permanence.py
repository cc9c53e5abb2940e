"""When a value can no longer become what it should be."""

import pytest

from maseval.benchmark.tau2.domains.domain import (
    ABSENT,
    append_only,
    gone_for_good,
    moves_along,
    once_set,
    only_falls,
    only_rises,
    stays,
)


@pytest.mark.parametrize(
    ("rule", "now", "wanted", "lost"),
    [
        (append_only, [1], [1, 2], False),
        (append_only, [2], [1, 2], True),
        (append_only, [1, 2], [1], True),
        (once_set, None, "x", False),
        (once_set, "y", "x", True),
        (once_set, "y", None, True),
        (only_falls, 5, 3, False),
        (only_falls, 3, 5, True),
        (only_falls, 3, 3, False),
        (only_rises, 3, 3, False),
        (append_only, [], [1], False),
        (append_only, [1], [1], False),
        (once_set, "x", "x", False),
        (once_set, ABSENT, "x", False),
        (stays, {}, {}, False),
        (gone_for_good(("new",)), {"old": 1}, {"old": 2}, False),
        (only_rises, 3, 5, False),
        (only_rises, 5, 3, True),
        (stays, {}, ABSENT, True),
        (stays, ABSENT, {}, False),
        (moves_along({"a": ("b",), "b": ("c",)}), "a", "c", False),
        (moves_along({"a": ("b",), "b": ("c",)}), "c", "a", True),
        (gone_for_good(("new",)), {}, {"new": 1}, False),
        (gone_for_good(("new",)), {}, {"old": 1}, True),
    ],
)
def test_a_rule_of_permanence(rule, now, wanted, lost):
    assert rule(now, wanted) is lost
