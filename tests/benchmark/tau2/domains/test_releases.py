import pytest

from maseval.benchmark.tau2.data import UnknownVersionError, known_version, title_of, version_titled
from maseval.benchmark.tau2.data.files import VERIFIED_COMMIT, manifest_of
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.domains.releases import V0_2_0, V1_0_1, release_named, release_of
from maseval.benchmark.tau2.environment import Tau2Environment
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.data.sources import default_sources
from tests.benchmark.tau2.todo_list import CREATE, said, task, todo_list


def test_the_default_is_0_2_0():
    assert release_named() is release_named(None) is release_named("v0.2.0") is V0_2_0


@pytest.mark.parametrize("name", ["0.2.0", "1.0.1", "1.0.1+tasks.0.2.0", "0.2.0+tasks.1.0.1"])
def test_a_release_is_found_by_its_name(name):
    assert release_named(name).name == name


def test_a_mixed_release_has_the_rules_of_one_and_the_tasks_of_the_other():
    mixed = release_named("1.0.1+tasks.0.2.0")

    assert mixed.rules is V1_0_1.rules and mixed.tasks is V0_2_0
    assert mixed.domain("retail") is V1_0_1.domains["retail"]
    assert release_named("1.0.1+tasks.1.0.1") == V1_0_1


@pytest.mark.parametrize("name", ["1.0.0", "", "latest", "1.0.1+tasks.", "+tasks.0.2.0", 1.0])
def test_an_unknown_version_is_named_with_the_choices(name):
    with pytest.raises(UnknownVersionError, match=r"choose one of: 0\.2\.0, 1\.0\.1") as refused:
        release_named(name)
    assert isinstance(refused.value, MASEvalError)


def test_a_domain_is_had_as_each_release_has_it():
    old, new = (release.domain("retail") for release in (V0_2_0, V1_0_1))

    assert not old.toolkit.has_tool("get_item_details")
    names = [tool["function"]["name"] for tool in new.toolkit.definitions()]
    assert names[names.index("get_product_details") + 1] == "get_item_details"
    assert V0_2_0.domain(new) is old and V1_0_1.domain(old) is new
    assert new.lenient.toolkit.has_tool("get_item_details")


def test_errors_about_arguments_name_the_class_that_the_original_has():
    tools = object.__new__(V1_0_1.domain("retail").toolkit)

    with pytest.raises(TypeError, match=r"^RetailTools\.get_item_details\(\) missing 1 required"):
        tools.use_tool("get_item_details")
    with pytest.raises(TypeError, match=r"^RetailTools\.get_item_details\(\) got an unexpected"):
        tools.use_tool("get_item_details", product_id="1")
    with pytest.raises(AttributeError, match="'RetailTools' object has no attribute 'paint'"):
        tools.task_function("paint")


def test_a_domain_of_ones_own_stands_for_itself_under_any_rules(tmp_path):
    own = todo_list(tmp_path, task(CREATE))

    assert V1_0_1.domain(own) is own
    assert V1_0_1.domain("library") is domain_named("library")
    assert score_simulation(said(own, CREATE), domain=own, version="1.0.1")["reward"] == 1.0


def test_a_domain_object_brings_its_release_unless_another_is_named():
    assert release_of(V1_0_1.domains["airline"]) is V1_0_1
    assert release_of(V1_0_1.domains["airline"], "0.2.0") is V0_2_0
    assert release_of("airline") is V0_2_0


def test_replay_of_0_2_0_cannot_be_lenient(tmp_path):
    own = todo_list(tmp_path, task(CREATE))

    with pytest.raises(ConfigurationError, match=r"0\.2\.0 replays strictly only"):
        score_simulation(said(own, CREATE), domain=own, lenient_replay=True)


def test_what_a_read_was_answered_decides_only_under_the_old_rules(tmp_path):
    own = todo_list(tmp_path, task(CREATE))
    simulation = said(own, {**CREATE, "name": "get_users", "arguments": {}}, CREATE)
    answer = next(each for each in simulation["messages"] if each["role"] == "tool")
    answer["content"] = "something else"

    assert "replay_error" in score_simulation(simulation, domain=own)["info"]
    assert score_simulation(simulation, domain=own, version="1.0.1")["reward"] == 1.0


def test_an_environment_is_of_the_release_its_task_names(tmp_path):
    own = todo_list(tmp_path, task(CREATE))

    assert Tau2Environment({"domain": own, "version": "1.0.1"}).release is V1_0_1
    assert Tau2Environment({"domain": own}).release is V0_2_0
    with pytest.raises(UnknownVersionError):
        Tau2Environment({"domain": own, "version": "3"})


@pytest.mark.parametrize("name", ["0.2.0", "1.0.1", "verified", "1.0.1+tasks.0.2.0"])
def test_a_recorded_title_leads_back_to_the_release(name):
    assert version_titled(f"tau2-bench {title_of(name)}") == name


def test_the_name_does_not_lose_its_first_letter():
    assert known_version("verified") == "verified" and known_version("v1.0.1") == "1.0.1"
    with pytest.raises(UnknownVersionError, match="'erified'"):
        known_version("erified")


def test_its_files_come_from_its_own_repository_at_the_pinned_commit(monkeypatch):
    for variable in ("MASEVAL_TAU2_DATA", "MASEVAL_TAU2_BASE_URL"):
        monkeypatch.delenv(variable, raising=False)
    original = default_sources(manifest_of("verified"))[0]
    assert original.name.endswith(f"amazon-agi/tau2-bench-verified/{VERIFIED_COMMIT}")


def test_the_new_tool_never_finds_an_item():
    retail = release_named("verified").domain("retail")
    assert retail.toolkit.has_tool("get_item_details")
    with pytest.raises(ValueError, match="Item not found"):
        object.__new__(retail.toolkit).get_item_details(None)
