"""The columns are declared once, in a file that the documentation shows as it is."""

import re
from pathlib import Path

from maseval.frames.frame import TABLES

CHECKOUT = Path(__file__).parents[2]
PAGE = (CHECKOUT / "docs" / "frames.md").read_text(encoding="utf-8")


def test_the_page_shows_the_declaration():
    (shown,) = re.findall(r'^--8<-- "(.*)"$', PAGE, re.M)
    declared = (CHECKOUT / shown).read_text(encoding="utf-8")

    assert re.findall(r"^\[(\w+)\]", declared, re.M) == list(TABLES)
    for table in TABLES.values():
        for column in table.columns[-1:]:
            assert f"\n{column.name} | {column.type} | {column.meaning}\n" in declared


def test_the_page_names_the_columns_that_tables_are_joined_by():
    for column in TABLES["simulations"].columns[:4]:
        assert f"`{column.name}`" in PAGE
