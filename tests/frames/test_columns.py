"""The columns are declared once, and documented as declared."""

from pathlib import Path

from maseval.frames.frame import TABLES

PAGE = Path(__file__).parents[2] / "docs" / "frames.md"


def test_the_page_lists_the_columns_as_they_are_declared():
    assert f"\n{columns_as_text()}\n" in PAGE.read_text(encoding="utf-8")


def columns_as_text() -> str:
    lines = []
    keys = TABLES["simulations"].columns[:4]
    tables = {"every table but `runs`, `scores` and `reliability`": keys} | {
        f"`{table.name}`": table.columns[4:] if table.columns[:4] == keys else table.columns
        for table in TABLES.values()
    }
    for name, columns in tables.items():
        width = max(len(each.name) for each in columns)
        lines += [f"**{name}**", "", "```text"]
        lines += [f"{each.name:{width}}  {each.type:7}  {each.meaning}" for each in columns]
        lines += ["```", ""]
    return "\n".join(lines).rstrip()
