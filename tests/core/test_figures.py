"""Numbers as they are shown: one rule of rounding, in Python and in the pages' script."""

import json
import random
import shutil
import subprocess

import pytest

from maseval.core.words import (
    between,
    in_percent,
    in_points,
    money,
    p_is,
    p_value,
    percent,
    round_half_up,
)
from maseval.report.page import asset


@pytest.mark.parametrize(
    ("share", "shown"),
    [(5 / 16, "31.3%"), (23 / 80, "28.8%"), (0.2865, "28.7%"), (1 / 3, "33.3%"), (1, "100.0%")],
)
def test_halves_of_shares_are_rounded_up(share, shown):
    assert percent(share) == shown


def test_differences_have_a_sign_and_zero_has_no_minus():
    assert [in_points(each) for each in (0.0625, -0.0625, -1e-9, 0)] == [
        *("+6.3", "-6.3", "+0.0", "+0.0")
    ]
    assert (in_points(-0.125, 0), in_percent(-1e-9)) == ("-13", "0.0")
    assert between(0.5791, 1) == "[57.9, 100.0]"


def test_a_small_p_value_is_never_zero():
    assert [p_value(each) for each in (0.0005, 0.001, 0.0005e3)] == ["< 0.001", "0.001", "0.500"]
    assert (p_is(1e-9), p_is(0.03125)) == ("p < 0.001", "p = 0.031")


def test_a_cost_that_is_not_known_is_never_zero():
    assert [money(each) for each in (None, 0, 0.00001, 0.0123, 0.25, 0.5, 1234.5)] == [
        *("not known", "$0.00", "< $0.0001", "$0.0123", "$0.25", "$0.50", "$1,234.50")
    ]


SHARES = [
    *(part / whole for whole in (16, 32, 80, 114, 160, 800, 2000) for part in range(whole + 1)),
    *(random.Random(7).uniform(-1, 1) for _ in range(500)),
]
COSTS = [0, 0.00001, 0.00005, 0.0123, 0.25, 0.5, 0.99999, 1, 1.005, 12.345, 1234.5, 1e6]


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_pages_show_the_same_figures():
    code = f"""
const shares = {json.dumps(SHARES)}, costs = {json.dumps(COSTS)};
const texts = {{
  percent: shares.map((each) => inPercent(each)), points: shares.map((each) => inPoints(each)),
  whole: shares.map((each) => inPoints(each, 0)), money: costs.map(money),
}};
console.log(JSON.stringify(texts));
"""
    ran = subprocess.run(
        ["node", "--input-type=module"],
        input=asset("text.js") + code,
        capture_output=True,
        text=True,
        check=True,
    )

    assert json.loads(ran.stdout.replace("\N{MINUS SIGN}", "-")) == {
        "percent": [in_percent(each) for each in SHARES],
        "points": [in_points(each) for each in SHARES],
        "whole": [in_points(each, 0) for each in SHARES],
        "money": [money(each) for each in COSTS],
    }


def test_a_number_is_rounded_as_it_reads():
    assert all(round_half_up((2 * each + 1) / 20, 1) == (each + 1) / 10 for each in range(2000))
