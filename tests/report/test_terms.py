"""The words of a benchmark that pages show with a hint have one, and no hint is out of reach."""

import re
from importlib.resources import files

import pytest

from maseval.app.results.measured import WITHOUT_BREACHES
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.world.tasks import RewardType
from maseval.core.finding import WHO

SCRIPT = files("maseval.report").joinpath("assets", "terms.js").read_text(encoding="utf-8")
PATTERNS = re.findall(r"^  \[/(.*?)/, \"", SCRIPT, re.MULTILINE)
KINDS = [f"{who}: anything" for who in (*WHO, "record")]


@pytest.mark.parametrize(
    "word", [*TerminationReason, *RewardType, *KINDS, "pass^8", WITHOUT_BREACHES.name]
)
def test_a_word_has_a_hint(word):
    assert any(re.search(pattern, word) for pattern in PATTERNS)


def test_no_hint_stands_behind_a_more_general_one():
    assert len(PATTERNS) == SCRIPT.count("\n  [/")
    for place, pattern in enumerate(PATTERNS):
        plain = re.sub(r"\((\w+)\|.*?\)", r"\1", pattern).replace("\\d+", "2").replace("\\", "")
        word = plain.strip("^$")
        first = next(number for number, each in enumerate(PATTERNS) if re.search(each, word))
        assert first == place, word
