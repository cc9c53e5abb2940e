from dataclasses import fields

from maseval.core.scoring_options import ScoringKeywords, ScoringOptions


def test_the_keywords_are_the_fields_of_the_options_but_strict():
    names = [each.name for each in fields(ScoringOptions)]

    assert [*ScoringKeywords.__annotations__, "strict"] == names


def test_default_options_need_no_remark():
    assert ScoringOptions().marks == []


def test_each_departure_from_the_default_is_marked():
    assert len(ScoringOptions(as_recorded=True, embedded_tasks=True, remap_tasks=True).marks) == 3
