"""A conversation is normalised before anything is read in it."""

import pytest

from maseval.benchmark.tau2.review.plain_text import normalise
from maseval.benchmark.tau2.review.talk import Talk


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
        *(
            (form, "$1234.50")
            for form in ("USD 1,234.50", "1,234.50 USD", "1234.50$", "$ 1,234.50")
        ),
        *((form, "$1234.50") for form in ("**$1,234.50**", "US$\u202f1 234.50", "1.234,50 USD")),
        ("*Total* | 150, `visa` 1733", "Total | $150, visa 1733"),
        ("It costs 50 for each bag.", "It costs $50 for each bag."),
        ("A total of 12 bags, 2.50 GB, 2 * $50", "A total of 12 bags, 2.50 GB, 2 * $50"),
        ("HAT069 on 2024-05-25 at 10:30, card 1733", "HAT069 on 2024-05-25 at 10:30, card 1733"),
    ],
)
def test_marks_that_hide_words_are_removed(written: str, read: str) -> None:
    assert normalise(written) == read
    assert [each.text for each in Talk([{"role": "user", "content": written}]).user] == [read]
