"""Quantiles without a numerical library."""

import pytest

from maseval.core.exceptions import ConfigurationError
from maseval.stats.distributions import regularised_beta, two_sided_t, two_sided_z


@pytest.mark.parametrize(
    ("degrees", "expected"), [(1, 12.7062047362), (4, 2.7764451052), (30, 2.0422724563)]
)
def test_students_t_has_the_values_of_the_printed_tables(degrees, expected):
    assert two_sided_t(0.95, degrees) == pytest.approx(expected, abs=1e-9)


def test_many_degrees_of_freedom_make_t_normal():
    assert two_sided_t(0.95, 10**7) == pytest.approx(two_sided_z(0.95), abs=1e-6)
    assert two_sided_z(0.95) == pytest.approx(1.959963984540054)


@pytest.mark.parametrize("level", [0, 1, -0.5, 95])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ConfigurationError, match=r"0\.95"):
        two_sided_z(level)
    with pytest.raises(ConfigurationError, match=r"0\.95"):
        two_sided_t(level, 3)


def test_no_degree_of_freedom_is_refused():
    with pytest.raises(ConfigurationError, match="degrees"):
        two_sided_t(0.95, 0)


def test_they_agree_with_scipy():
    stats = pytest.importorskip("scipy.stats")
    for degrees in (1, 2, 3, 9, 49, 277, 2284):
        for level in (0.5, 0.8, 0.9, 0.95, 0.999):
            expected = stats.t.ppf((1 + level) / 2, degrees)
            assert two_sided_t(level, degrees) == pytest.approx(expected, rel=1e-8)


def test_the_beta_distribution_agrees_with_scipy():
    special = pytest.importorskip("scipy.special")
    for a in (0.1, 0.5, 1, 3.3, 40, 600):
        for b in (0.2, 0.5, 1, 7, 350):
            for x in (0.0, 1e-6, 0.03, 0.4, 0.5, 0.77, 0.999, 1.0):
                expected = float(special.betainc(a, b, x))
                assert regularised_beta(x, a, b) == pytest.approx(expected, rel=1e-8, abs=1e-13)
