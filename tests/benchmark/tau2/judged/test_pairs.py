"""The packaged conversations: both sides of each pair can be played, and their labels hold."""

import json
import lzma
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from maseval.benchmark.tau2.app.judging.pairs import PAIRS, READINGS, labelled_cases, read_lines

DOMAINS = ["airline", "retail", "telecom"]


def test_the_package_has_what_the_page_says():
    pairs = read_lines(PAIRS)
    assert len(pairs) == 1456
    assert len({each["style"] for each in pairs}) == 71
    assert Counter(each["weight"] for each in pairs) == {
        "act": 920,
        "statement": 265,
        "manner": 271,
    }
    assert len(read_lines(READINGS)) == 342
    assert all(each.stat().st_size < 1 << 20 for each in (PAIRS, READINGS))


def texts_in(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts_in(each)


def test_no_words_of_the_original_s_texts_are_packed(shared_data):
    texts = set()
    for path in [*shared_data.glob("tau2-texts/v*.json"), *shared_data.rglob("tasks*.json")]:
        for text in texts_in(json.loads(path.read_text(encoding="utf-8"))):
            lines = (line.strip() for line in text.split("\n"))
            texts.update(line for line in lines if len(line) >= 60 and line.count(" ") >= 8)
    assert len(texts) > 500
    packed = lzma.decompress(PAIRS.read_bytes()).decode().replace("\\n", "\n").replace('\\"', '"')
    assert [text for text in texts if text in packed] == []


@pytest.mark.data
@pytest.mark.slow
def test_every_pair_can_be_played_and_its_sides_differ(tau2_data):
    sides = {}
    for case in labelled_cases("policy", DOMAINS):
        request = case.request()
        sides.setdefault(case.pair, []).append(request.parts["conversation"])
        said = range(len(request.subject.messages))
        claims = [{"claims": [{"message": number}]} for number in said]
        assert any(map(case.is_exact, claims)) and case.finds(claims[0]), case.id
        assert "{{" not in request.parts["conversation"]
        assert len(request.parts["policy"]) > 2000
    assert all(len(both) == 2 and both[0] != both[1] for both in sides.values())


@pytest.mark.data
def test_a_breach_and_its_twin_share_what_is_not_marked(tau2_data):
    broken, kept = labelled_cases("policy", ["airline"])[:2]
    assert (broken.broken, kept.broken) == (True, False)
    one, two = (each.request().subject.messages for each in (broken, kept))
    first = next(number for number, text in enumerate(one) if text != two[number])
    assert broken.is_exact({"claims": [{"message": first}]})
    assert not broken.is_exact({"claims": [{"message": first - 3}, {"message": 10**6}]})
    assert any(text.startswith("answer: {") for text in one)


@pytest.mark.data
def test_the_bank_s_documents_count_as_its_policy(banking_data, tau2_texts):
    case = labelled_cases("policy", ["banking_knowledge"])[0]
    subject = case.request().subject
    answers = [text for text in subject.messages if text.startswith("answer: ")]
    assert subject.fault_of_other(answers[-1].removeprefix("answer: ")[:40]) is None
    assert subject.fault_of_other("Nobody wrote this.") is not None
