"""A conversation is normalised before anything is read in it."""

import pytest

from maseval.benchmark.tau2.review.talk import Talk, normalise


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("$3,000.50 and 1,234,567", "$3000.50 and 1234567"),
        ("May 15, 2024, or 10,20", "May 15, 2024, or 10,20"),
        ("5\u202fGB\u00a0of data", "5 GB of data"),
        ("non\u2011stop", "non-stop"),
        ("I don\u2019t \u201cwant\u201d it", 'I don\'t "want" it'),
        ("The bill is **paid**.", "The bill is paid."),
        ("Thank you. ###STOP###", "Thank you."),
    ],
)
def test_marks_that_hide_words_are_removed(written: str, read: str) -> None:
    assert normalise(written) == read
    assert [each.text for each in Talk([{"role": "user", "content": written}]).user] == [read]
