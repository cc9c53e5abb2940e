"""Effects of the factors of a grid: what moves the score, and what is only noise."""

import json
from collections.abc import Iterable
from itertools import combinations, product
from statistics import fmean, variance
from typing import Any

import pytest

from benchmarks.effects import (
    BEGIN,
    COVERAGE,
    END,
    ERROR,
    PAGE,
    TRUTHS,
    WORST,
    Case,
    simulate,
    worst_of,
)
from maseval.core.exceptions import ConfigurationError
from maseval.stats import Outcome, compare, holm
from maseval.stats.effects import find_effects
from maseval.stats.intervals import mean_interval, student_p, two_sided_t
from tests.stats.made_up import rng, run


def grid(
    counts: dict[tuple[str, ...], Any], names: tuple[str, ...] = ("system", "model")
) -> list[tuple[dict[str, str], list[Outcome]]]:
    """Return cells by their levels, in which task ``i`` passed ``counts[levels][i]`` of 4 times."""
    return [
        (dict(zip(names, levels, strict=True)), run(each) if isinstance(each[0], int) else each)
        for levels, each in counts.items()
    ]


def noisy_grid(
    gain: dict[tuple[str, str], float],
    *,
    seed: int = 1,
    tasks: int = 60,
    systems: tuple[str, str] = ("a", "b"),
    models: tuple[str, str] = ("x", "y"),
) -> list[tuple[dict[str, str], list[Outcome]]]:
    """Return cells whose tasks pass by their own chance, and so much more in each cell."""
    numbers = rng(seed)
    base = [numbers.uniform(0.2, 0.6) for _ in range(tasks)]
    return grid(
        {
            (s, m): [
                sum(numbers.random() < p + gain.get((s, m), 0) for _ in range(4)) for p in base
            ]
            for s, m in product(systems, models)
        }
    )


def test_two_cells_give_the_numbers_of_a_comparison_of_two_runs():
    first, second = run([4, 3, 0, 2, 4, 1, 0]), run([4, 4, 0, 4, 0, 1, 3])
    (found,) = find_effects([({"system": "a"}, first), ({"system": "b"}, second)], k=2).contrasts
    main = compare(first, second, k=2).main

    assert found.difference == pytest.approx(main.difference)
    assert found.p_value == found.adjusted == main.test.p_value
    assert found.interval.low == pytest.approx(main.interval.low)
    assert found.interval.high == pytest.approx(main.interval.high)


def test_a_difference_is_averaged_over_the_other_factors_task_by_task():
    cells = grid({("a", "x"): [0, 4], ("b", "x"): [4, 4], ("a", "y"): [2, 2], ("b", "y"): [2, 4]})
    system, model = find_effects(cells).contrasts

    assert (system.factors, system.levels) == (("system",), (("a", "b"),))
    assert system.difference == pytest.approx(((1 + 0) / 2 + (0 + 0.5) / 2) / 2)
    assert (system.tasks, system.combinations) == (2, 2)
    assert model.difference == pytest.approx(((0.5 - 0.5) / 2 + (-0.5 + 0) / 2) / 2)


def test_what_holm_takes_back_is_likely_and_no_more():
    """All 6 tasks differ between a and b: p = 2 / 2^6, of three contrasts 3 / 32 after Holm."""
    cells = grid({("a",): [0] * 6, ("b",): [4] * 6, ("c",): [4, 4, 4, 0, 0, 0]}, names=("model",))
    found = find_effects(cells)
    graded = {each.levels[0]: (each.p_value, each.adjusted, each.grade) for each in found.contrasts}

    assert graded["a", "b"] == (pytest.approx(1 / 32), pytest.approx(3 / 32), "likely")
    assert graded["a", "c"] == (pytest.approx(1 / 4), pytest.approx(1 / 2), "undecided")
    assert found.factors[0].grade == "likely"


def test_a_grid_with_one_factor_that_matters_says_so_and_claims_nothing_of_the_other():
    found = find_effects(noisy_grid({("b", "x"): 0.3, ("b", "y"): 0.3}))
    system, model = found.factors

    assert (system.name, system.grade, model.grade) == ("system", "shown", "undecided")
    assert 0.3 in system.interval
    assert system.share > 0.8
    assert model.size < 0.05
    assert found.headline.startswith("system moves the score (pass^1) by ")
    assert "no effect of model is shown (at most " in found.headline
    assert not [each for each in found.interactions if each.grade == "shown"]
    assert json.loads(json.dumps(found.to_dict()))["headline"] == found.headline


# A grid of 2 x 3 cells: how often each of six tasks passed in four trials.
SIX = {
    ("a", "x"): [0, 1, 2, 3, 1, 0],
    ("a", "y"): [2, 2, 3, 4, 1, 1],
    ("a", "z"): [4, 3, 3, 4, 2, 4],
    ("b", "x"): [0, 0, 1, 1, 0, 0],
    ("b", "y"): [4, 4, 3, 4, 3, 4],
    ("b", "z"): [4, 4, 4, 4, 4, 4],
}


def mean_and_variance(parts: list[float]) -> tuple[float, float]:
    """Return the mean of the tasks' parts, and the variance of that mean."""
    return fmean(parts), variance(parts) / len(parts)


def between_pairs(pairs: Iterable[tuple[float, float]], number: int) -> float:
    """Return the variance between so many means by all their pairs, less that of noise."""
    return max(0.0, sum(mean**2 - noise for mean, noise in pairs) / number**2)


def test_the_numbers_of_a_grid_are_those_of_a_computation_without_it():
    """Each is found again from the six tasks of each cell, by the formulas of the page."""
    found = find_effects(grid(SIX))
    model, system = found.factors
    rates = {cell: [each / 4 for each in counts] for cell, counts in SIX.items()}
    of_models = {
        (one, other): [
            fmean(rates[each, other][task] - rates[each, one][task] for each in "ab")
            for task in range(6)
        ]
        for one, other in combinations("xyz", 2)
    }
    of_systems = [
        fmean(rates["b", each][task] - rates["a", each][task] for each in "xyz")
        for task in range(6)
    ]
    of_cells = [
        [after - before for before, after in zip(rates[one], rates[other], strict=True)]
        for one, other in combinations(SIX, 2)
    ]

    # The range of three levels has twice the noise of one difference in its square.
    widest, noise = mean_and_variance(of_models["x", "z"])
    assert model.name == "model"
    assert model.size == pytest.approx((widest**2 - 2 * noise) ** 0.5)
    only, noise = mean_and_variance(of_systems)
    assert system.size == pytest.approx((only**2 - noise) ** 0.5)

    # Three intervals that hold at once, each a third as likely to miss; of two levels there is one.
    spans = [mean_interval(each, 1 - 0.05 / 3, (-1.0, 1.0)) for each in of_models.values()]
    assert model.interval.low == pytest.approx(max(0.0, *(each.low for each in spans)))
    assert model.interval.high == pytest.approx(max(each.high for each in spans))
    span = mean_interval(of_systems, 0.95, (-1.0, 1.0))
    assert system.interval.low == pytest.approx(max(0.0, span.low))
    assert system.interval.high == pytest.approx(span.high)

    # The shares of the spread between cells, noise aside.
    whole = between_pairs(map(mean_and_variance, of_cells), 6)
    models = between_pairs(map(mean_and_variance, of_models.values()), 3)
    systems = between_pairs([mean_and_variance(of_systems)], 2)
    assert 0 < models + systems < whole
    assert model.share == pytest.approx(models / whole)
    assert system.share == pytest.approx(systems / whole)
    assert found.together == pytest.approx(1 - (models + systems) / whole)

    # Over many tasks like these the range is surely above nothing.
    many = {cell: counts * 5 for cell, counts in SIX.items()}
    surely = find_effects(grid(many)).factors[0].interval
    apart = mean_interval(of_models["x", "z"] * 5, 1 - 0.05 / 3, (-1.0, 1.0))
    assert 0 < surely.low == pytest.approx(apart.low)

    tests = {each.levels[0]: each for each in found.contrasts}
    assert tests["x", "z"].difference == pytest.approx(widest)
    assert tests["x", "z"].p_value == 2 / 2**6


def test_levels_with_different_tasks_are_tested_after_welch_with_imagined_tasks():
    one, other = run([4, 3, 4, 2]), run([1, 0, 2], group="other")
    (found,) = find_effects([({"domain": "one"}, one), ({"domain": "two"}, other)]).contrasts

    # A task of 0 and one of 1 stand beside those of each side.
    first, second = [1, 0.75, 1, 0.5, 0, 1], [0.25, 0, 0.5, 0, 1]
    errors = [4**2 / 6 * variance(first) / 4**2, 3**2 / 5 * variance(second) / 3**2]
    below = errors[0] ** 2 / 5 + errors[1] ** 2 / 4
    difference = fmean(second) - fmean(first)
    expected = student_p(difference / sum(errors) ** 0.5, sum(errors) ** 2 / below)

    assert found.p_value == pytest.approx(expected)
    assert found.difference == pytest.approx(0.25 - 0.8125)


def test_an_interaction_names_whom_a_system_helps_and_whom_it_costs():
    found = find_effects(noisy_grid({("b", "x"): 0.35, ("b", "y"): -0.2}))
    (crossed,) = found.interactions

    assert crossed.grade == "shown"
    assert crossed.levels == (("a", "b"), ("x", "y"))
    assert crossed.difference == pytest.approx(crossed.within[1] - crossed.within[0])
    assert crossed.sentence.startswith("b instead of a helps x by ")
    assert " and costs y " in crossed.sentence
    assert found.headline.endswith(crossed.sentence)


def test_a_factor_with_other_tasks_at_each_level_is_not_paired_and_the_rest_still_is():
    counts = {("a", "x"): [0, 2, 4, 0], ("b", "x"): [4, 4, 4, 2]}
    cells = grid({(*levels, "one"): each for levels, each in counts.items()}, ("s", "m", "domain"))
    elsewhere = {("a", "x"): [4, 4], ("b", "x"): [2, 4]}
    cells += [
        ({"s": s, "m": m, "domain": "two"}, run(each, group="other"))
        for (s, m), each in elsewhere.items()
    ]
    found = find_effects(cells)
    system, domain = found.contrasts

    # Both domains count the same, although one has twice the tasks.
    assert system.difference == pytest.approx(((1 + 0.5 + 0 + 0.5) / 4 + (-0.5 + 0) / 2) / 2)
    assert "sign-flip" in system.method
    assert domain.difference == pytest.approx((1 + 0.75) / 2 - (0.375 + 0.875) / 2)
    assert "Welch" in domain.method
    assert {each.name: each.paired for each in found.factors} == {"s": True, "domain": False}
    assert any(note.startswith("domain is not paired") for note in found.notes)
    assert domain.difference in domain.interval


def test_missing_cells_tasks_and_trials_are_left_out_where_they_miss_and_said():
    cells = grid({("a", "x"): [0, 4, 0], ("b", "x"): [4, 4, 4], ("a", "y"): [2, 2, 4]})
    cells[0] = (cells[0][0], cells[0][1][:-1])  # a trial less of the last task
    cells[1] = (cells[1][0], cells[1][1][:8])  # and of this cell no verdict of it
    found = find_effects(cells)
    system, model = found.contrasts

    assert found.missing == ["b \u00b7 y"]
    assert (system.difference, system.tasks, system.combinations) == (0.5, 2, 1)
    assert (model.tasks, model.combinations) == (3, 1)
    assert found.together is None and all(each.share is None for each in found.factors)
    said = " ".join(found.notes)
    assert "1 cell of the grid missing" in said
    assert "1 task without a verdict in some cell" in said
    assert "different numbers of trials" in said


def test_factors_that_vary_together_are_not_told_apart():
    found = find_effects(grid({("a", "x"): [0] * 9, ("b", "y"): [4] * 9}))

    assert found.contrasts == []
    assert [each.size for each in found.factors] == [None, None]
    assert "system: no two cells differ in it alone, so its effect is not known" in found.notes


def test_few_tasks_prove_nothing_however_far_the_levels_are_apart():
    levels = list(product("abc", "xy"))
    few = find_effects(grid({each: [4 * (each[0] == "c")] * 5 for each in levels}))
    more = find_effects(grid({each: [4 * (each[0] == "c")] * 9 for each in levels}))

    assert few.headline == "too few tasks: with 5 tasks and 4 contrasts no effect can be shown"
    assert {each.grade for each in few.factors} == {"undecided"}
    assert more.factors[0].grade == "shown"
    adjusted = [each.adjusted for each in more.contrasts]
    assert adjusted == holm([each.p_value for each in more.contrasts])


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        ([({"system": "a"}, run([1]))], "two cells or more with a verdict; there are 1"),
        ([({"system": "a"}, run([1])), ({"system": "a"}, run([2]))], "two runs are the cell a"),
        ([({"system": "a"}, run([1])), ({"model": "a"}, run([2]))], "the cells of one grid"),
        ([({"s": "a"}, run([1])), ({"s": "b"}, [Outcome("shop", "0", 0, None)])], "there are 1"),
    ],
)
def test_what_is_no_grid_is_refused(cells, words):
    with pytest.raises(ConfigurationError, match=words):
        find_effects(cells)


def test_the_p_value_of_student_is_that_of_its_quantile():
    for degrees in (1, 3, 30):
        assert student_p(two_sided_t(0.99, degrees), degrees) == pytest.approx(0.01)
    assert student_p(2.0, 30.2) == pytest.approx(0.054563884620152624)
    assert student_p(0.0, 5) == 1.0


def test_the_truth_of_simulated_contrasts_is_that_of_their_cells():
    case = Case((2, 3, 1), 200, "+20 with one model")
    found = simulate(case, 1)

    assert found.held == found.range == 1.0
    assert found.found == 1.0


def test_every_grid_of_the_page_keeps_the_promises():
    table = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table.split("\n")]
    head, _, *rows = [row for row in rows if len(row) > 1]

    assert tuple(head) == WORST
    assert list(TRUTHS) == list(dict.fromkeys(row[0] for row in rows))
    for row in rows:
        luck = 300 * (ERROR * (1 - ERROR) / int(row[2])) ** 0.5
        false, crossed, held = map(float, row[3:6])
        assert max(false, crossed) <= 100 * ERROR + luck
        assert held >= 100 * COVERAGE - luck


def test_the_page_shows_the_worst_of_the_grids_of_a_kind():
    first = ("2 \u00d7 2", "+10", "50", "100", "2.0", "5.0", "99.0", "99.5", "72", "1.1")
    other = ("3 \u00d7 3", "+10", "50", "50", "4.0", "2.0", "99.7", "98.0", "94", "0.9")

    assert worst_of([other, first]) == [("+10", "50", "50", "4.0", "5.0", "98.0", "72", "1.1")]
