"""A results file that v1.0.1 wrote is judged by the release that is named, and says which it is."""

import json

from maseval.benchmark.tau2.data_loader import load_raw_task
from maseval.benchmark.tau2.rescoring.findings import in_words
from maseval.commands import show, tau2


def test_a_real_file_is_confirmed_by_its_own_release_and_recognised_by_the_other(
    vectors, data, tau2_data
):
    path = vectors / "results" / "real_airline_v1.json"

    (own,) = tau2.score([path])
    (other,) = tau2.score([path], data_version="0.2.0")

    assert (own.version, own.version_from) == ("1.0.1", "by the file's form")
    assert (other.version, other.version_from) == ("0.2.0", "as asked")
    assert (own.agreeing, own.compared) == (5, 5)
    # Its five tasks are not the whole split, which is to be told and nothing to be accused of.
    assert [each.kind for each in own.findings] == ["part of a split"]
    assert other.agreeing == 4
    (cause,) = (each for each in other.findings if each.weight != "remark")
    assert cause.kind == "other data version"
    assert "--data-version 1.0.1" in in_words(cause)


def test_a_simulation_is_explained_by_the_release_that_is_named(vectors, data, tau2_data):
    path = vectors / "results" / "real_airline_v1.json"

    own = tau2.explain(path, "2")
    other = tau2.explain(path, "2", data_version="0.2.0")

    assert own.line.passed and not other.line.passed
    assert not any("other data version" in each for each in own.notes)
    assert any("other data version" in each for each in other.notes)


def test_a_file_of_1_0_1_is_shown_by_its_own_release_with_the_numbers_of_its_score(
    vectors, data, tau2_data
):
    path = vectors / "results" / "real_airline_v1.json"
    for version in ("1.0.1", "0.2.0"):
        (scored,) = tau2.score([path], data_version=version)

        view = show(path, data_version=version)

        assert view.summary.overall.passed == scored.passes
        assert sum(view.causes.values()) == scored.planned - scored.passes
        assert view.folder.config.values["version"] == version
    assert "judged by tau2-bench 1.0.1 (by the file's form)" in show(path).folder.notes


def test_a_folder_of_results_is_judged_by_the_release_whose_form_it_has(vectors, data, tau2_data):
    (found,) = tau2.score([vectors / "results" / "run_dir"], domain="airline")

    assert found.version == "1.0.1"


def test_old_tasks_in_a_file_of_the_later_form_are_recognised_and_can_be_judged_by(
    vectors, data, tau2_data, tmp_path
):
    document = json.loads((vectors / "results" / "real_airline_v1.json").read_text())
    document["tasks"] = [load_raw_task("airline", task["id"]) for task in document["tasks"]]
    path = tmp_path / "old_tasks.json"
    path.write_text(json.dumps(document))

    (found,) = tau2.score([path])
    (mixed,) = tau2.score([path], data_version="1.0.1+tasks.0.2.0")

    (cause,) = (each for each in found.findings if each.weight != "remark")
    assert "--data-version 1.0.1+tasks.0.2.0" in in_words(cause)
    assert "other data version" not in {each.kind for each in mixed.findings}
    assert mixed.passes == 4 and found.passes == 5
