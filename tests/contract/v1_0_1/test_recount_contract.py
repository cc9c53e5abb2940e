"""A results file that v1.0.1 wrote is judged by the release that is named, and says which it is."""

from maseval.commands import tau2


def test_a_real_file_is_confirmed_by_its_own_release_and_recognised_by_the_other(
    vectors, data, tau2_data
):
    path = vectors / "results" / "real_airline_v1.json"

    (own,) = tau2.score([path], data_version="1.0.1")
    (other,) = tau2.score([path])

    assert (own.agreeing, own.compared, own.causes) == (5, 5, [])
    assert other.agreeing == 4
    (cause,) = other.causes
    assert cause.kind == "other data version"
    assert "--data-version 1.0.1" in str(cause)


def test_a_simulation_is_explained_by_the_release_that_is_named(vectors, data, tau2_data):
    path = vectors / "results" / "real_airline_v1.json"

    own = tau2.explain(path, "2", data_version="1.0.1")
    other = tau2.explain(path, "2")

    assert own.explanation.passed and own.causes == ()
    assert not other.explanation.passed
    assert [cause.kind for cause in other.causes] == ["other data version"]
