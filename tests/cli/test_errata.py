"""``maseval tau2 errata``."""

import re
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.data import VERSIONS
from maseval.benchmark.tau2.review.errata import errata_of
from tests.cli.commandline import last_json, maseval

PAGE = Path(__file__).parents[2] / "docs/errata.md"


def words(result: Any) -> str:
    """All that was printed, however it was wrapped."""
    return " ".join(result.stdout.split())


def test_every_erratum_of_a_release_is_listed_and_counted():
    told = last_json(maseval("tau2", "errata", "--data-version", "verified", "--json").stdout)
    shown = words(maseval("tau2", "errata", "--domain", "airline", "--data-version", "verified"))

    assert told["data_version"] == "verified"
    assert {one["domain"] for one in told["errata"]} >= {"airline", "retail", "telecom"}
    ours = [one for one in told["errata"] if one["domain"] == "airline"]
    assert all("verified" in one["releases"] for one in ours)
    remarks = [one for one in ours if one["sound_verdict"].get("stands")]
    counted = f"{len(ours) - len(remarks)} errata and {len(remarks)} remarks in "
    assert remarks and counted in shown and "tasks left out of the sound number: 2" in shown
    assert shown.count(": remark, ") > 0 and shown.rindex("Sound verdict: by") < shown.index(
        ": remark, "
    )


@pytest.mark.parametrize("arguments", [["--domain", "nowhere"], ["--data-version", "9"]])
def test_what_is_not_there_is_told(arguments):
    result = maseval("tau2", "errata", *arguments)

    assert result.exit_code == 2 and arguments[1] in result.stderr


def test_a_domain_that_the_release_does_not_have_is_told_from_one_without_errata():
    nothing = maseval("tau2", "errata", "--domain", "library")
    absent = maseval("tau2", "errata", "--domain", "banking_knowledge")
    there = maseval("tau2", "errata", "--domain", "banking_knowledge", "--data-version", "1.0.1")

    assert absent.exit_code == 2 and "which came with 1.0.1" in absent.stderr
    assert nothing.exit_code == 0 and "no known errors in library" in words(nothing)
    assert there.exit_code == 0 and "banking_knowledge task_053: gold impossible" in words(there)


def test_the_page_counts_them_right():
    lines = PAGE.read_text("utf-8").splitlines()
    start = next(n for n, line in enumerate(lines) if line.startswith("| kind | meaning |"))
    domains = [cell.strip() for cell in lines[start].strip("|").split("|")][2:]
    rows = lines[start + 2 :]
    for line in rows[: rows.index("")]:
        kind, _, *cells = (cell.strip() for cell in line.strip("|").split("|"))
        for domain, cell in zip(domains, cells, strict=True):
            releases = ["1.0.1"] if domain == "banking_knowledge" else VERSIONS
            counted = [
                sum(
                    kind == ("*remarks*" if each.is_remark else each.kind)
                    for each in errata_of(domain, release)
                )
                for release in releases
            ]
            assert re.findall(r"\d+", cell) == list(map(str, counted)), (kind, domain)
