"""The table of mutations fits the code; ``python -m scripts.mutations`` runs the tests on each."""

import pytest

from scripts.mutations import ROOMS, ROOT, Mutation, read_mutations


@pytest.mark.parametrize("mutation", read_mutations(), ids=lambda each: each.old)
def test_what_is_to_be_changed_is_there_once(mutation: Mutation) -> None:
    assert (ROOT / mutation.file).read_text(encoding="utf-8").count(mutation.old) == 1
    assert mutation.old != mutation.new


def test_every_room_has_tests_and_mutations() -> None:
    assert {each.room for each in read_mutations()} == set(ROOMS)
    assert all((ROOT / tests).exists() for room in ROOMS.values() for tests in room)


def test_a_text_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match="has 'no such text' 0 times, not once"):
        Mutation("stats", "maseval/stats/trials.py", "no such text", "x").apply(ROOT)
