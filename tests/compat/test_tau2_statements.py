"""Statements of MASEval's API document on tau2, each tried against ours.

What differs on purpose is not here but in ``docs/migrating.md``.
"""

import datetime as dt
import json
import sys

import pytest
from pydantic import Field

from maseval.benchmark import tau2
from maseval.benchmark.tau2 import (
    DB,
    Tau2Environment,
    ToolKitBase,
    ToolType,
    data_loader,
    is_tool,
    load_domain_config,
    load_tasks,
)
from maseval.benchmark.tau2.utils import (
    compare_tool_calls,
    dump_file,
    get_dict_hash,
    get_pydantic_hash,
    load_file,
    update_pydantic_model_with_dict,
)
from maseval.interface.extras import is_installed


def test_1_constants():
    assert tuple(tau2.VALID_DOMAINS)[:3] == ("retail", "airline", "telecom")
    assert set(tau2.TASK_SPLITS) == {"base", "all"}  # "hard" would be empty
    assert data_loader.DEFAULT_TIMEOUT_SECONDS == 600.0
    assert data_loader.DEFAULT_MAX_RETRIES == 1
    assert data_loader.BASE_SPLIT_COUNTS == {"airline": 50, "retail": 114, "telecom": 114}
    assert data_loader.DEFAULT_VERSION == "v0.2.0"


@pytest.mark.data
def test_1_tasks(tau2_data, tmp_path):
    for domain, count in (("airline", 50), ("retail", 114), ("telecom", 114)):
        queue = load_tasks(domain)
        assert len(queue) == count
        task = queue[0]
        assert {"domain", "initial_state", "policy", "db_path"} <= task.environment_data.keys()
        assert {
            *("actions", "env_assertions", "communicate_info", "nl_assertions", "reward_basis")
        } <= task.evaluation_data.keys()
        assert {"persona", "instructions"} <= task.user_data.keys()
        assert {"domain", "split", "description", "ticket"} <= task.metadata.keys()
        assert (task.protocol.timeout_seconds, task.protocol.max_retries) == (600.0, 1)
        assert task.protocol.tags == {"domain": domain, "split": "base"}
    assert len(load_tasks("retail", limit=3, timeout_seconds=None, max_retries=4)) == 3
    config = load_domain_config("retail")
    assert isinstance(config["policy"], str) and config["db_path"].exists()
    with pytest.raises(FileNotFoundError, match=r"ensure_data_exists|maseval tau2 data"):
        load_tasks("retail", data_dir=tmp_path)


class Books(DB):
    count: int = 0
    shelves: dict[str, dict[str, int]] = Field(default_factory=dict)


class Desk(ToolKitBase):
    @is_tool(ToolType.WRITE)
    def add(self, many: int, fast: bool | None = None) -> int:
        """Add books.

        Args:
            many: How many.
            fast: In a hurry.
        """
        self.db.count += many
        return self.db.count

    @is_tool()
    def look(self) -> str:
        """Look."""
        return "books"


def test_2_utilities(tmp_path):
    import hashlib

    assert get_dict_hash({"b": 1, "a": 2}) == hashlib.sha256(b'{"a": 2, "b": 1}').hexdigest()
    assert get_pydantic_hash(Books(count=1)) == get_dict_hash(Books(count=1).model_dump())
    books = Books(shelves={"a": {"x": 1}})
    assert update_pydantic_model_with_dict(books, {}) is books
    merged = update_pydantic_model_with_dict(books, {"shelves": {"a": {"y": 2}}})
    assert merged.shelves == {"a": {"x": 1, "y": 2}} and books.shelves == {"a": {"x": 1}}
    dump_file(tmp_path / "a.json", {"a": 1})
    assert load_file(tmp_path / "a.json") == {"a": 1}
    deep = {"a": 1.5, "b": {"c": ["\x7fü", {"d": True}], "e e": {}}, "when": dt.date(2026, 1, 2)}
    for name in ("deep.yaml", "deep.yml", *(["deep.toml"] if is_installed("tomli_w") else [])):
        dump_file(tmp_path / name, deep)
        assert load_file(tmp_path / name) == deep
    with pytest.MonkeyPatch.context() as patch, pytest.raises(ImportError, match="install tomli-w"):
        patch.setitem(sys.modules, "tomli_w", None)
        dump_file(tmp_path / "none.toml", {})
    assert not (tmp_path / "none.toml").exists()
    (tmp_path / "a.xyz").touch()
    with pytest.raises(ValueError, match="Unsupported file format"):
        load_file(tmp_path / "a.xyz")
    with pytest.raises(FileNotFoundError, match="File not found"):
        load_file(tmp_path / "no.json")
    assert compare_tool_calls("f", {"a": 1}, "f", {"a": 1})
    assert not compare_tool_calls("f", {"a": 1}, "g", {"a": 1})
    assert compare_tool_calls("f", {"a": 1, "b": 2}, "f", {"a": 1, "b": 3}, ["a"])
    assert compare_tool_calls("f", {"a": 1}, "f", {"a": 2}, [])


def test_8_reports_need_not_name_their_task():
    passed, failed = {"reward": 1.0, "passed": True}, {"reward": 0.0, "passed": False}
    results = [{"status": "success", "eval": [each]} for each in (passed, failed)]

    metrics = tau2.compute_benchmark_metrics(results)

    assert (metrics["total_tasks"], metrics["success_rate"]) == (2, 0.5)
    with pytest.raises(ValueError, match="not a report"):
        tau2.compute_benchmark_metrics([{"a": 1}])


def test_former_names_are_classes_of_ours():
    from maseval.benchmark.tau2.domains.airline import models

    assert models.ReservationFlight is models.ReservedFlight
    assert issubclass(models.DirectFlight, models.FlightBase)
    assert models.FlightDateStatusLanded is models.LandedFlight


def test_3_a_toolkit():
    assert {one.name: one.value for one in ToolType} == {
        name: name.lower() for name in ("READ", "WRITE", "THINK", "GENERIC")
    }
    desk = Desk(Books())
    assert list(desk.tools) == ["add", "look"] and desk.use_tool("add", many=2) == 2
    assert desk.has_tool("add") and desk.tool_type("add") == ToolType.WRITE
    with pytest.raises(ValueError, match=r"Tool 'no' not found\."):
        desk.use_tool("no")
    assert desk.get_statistics() == {
        "num_tools": 2,
        "num_read_tools": 1,
        "num_write_tools": 1,
        "num_think_tools": 0,
        "num_generic_tools": 0,
    }
    desk.update_db({"count": 9})
    assert desk.db.count == 9 and desk.get_db_hash() == desk.db.get_hash()
    assert desk.get_tool_descriptions().keys() == {"add", "look"}
    metadata = desk.get_tool_metadata("add")
    assert metadata.keys() >= {"description", "inputs", "tool_type"}
    assert metadata["inputs"] == {
        "many": {"type": "integer", "description": "How many."},
        "fast": {"type": "boolean", "description": "In a hurry.", "nullable": True},
    }
    booking = tau2.AirlineTools.get_tool_metadata("book_reservation")["inputs"]
    assert "$ref" not in json.dumps(booking) and "title" not in json.dumps(booking)
    assert booking["flights"]["type"] == "array" and booking["cabin"]["enum"]
    assert Books(count=1).copy_deep() == Books(count=1) and Books().get_statistics() == {}
    with pytest.raises(ValueError):
        Books(**{"other": 1})


@pytest.mark.data
def test_4_the_environment(tau2_data):
    task = load_tasks("retail", limit=1)[0]
    env = Tau2Environment(task_data=task.environment_data)
    assert Tau2Environment(environment_data=task.environment_data).domain == env.domain == "retail"
    assert env.state.keys() >= {"db", "toolkit", "user_toolkit", "policy", "initial_db_hash"}
    assert env.db is env.toolkit.db and env.user_toolkit is None and env.policy
    with pytest.raises(ValueError, match="not available"):
        env.make_user_tool_call("x")
    response = env.get_response("list_all_product_types", tool_call_id="7")
    assert response.keys() >= {"id", "content", "requestor", "error"}
    assert response["tool_call_id"] == "7"
    assert (response["id"], response["requestor"], response["error"]) == ("7", "assistant", False)
    bad = env.get_response("no_tool")
    assert bad["error"] is True
    assert Tau2Environment.to_json_str("s") == "s" and Tau2Environment.to_json_str(5) == '"5"'
    assert Tau2Environment.to_json_str({"a": [True, None]}) == '{"a": ["True", null]}'
    assert env.get_initial_db_hash() == env.get_db_hash() and env.get_user_db_hash() is None
    assert env.create_user_tools() == {} and "get_user_details" in env.tools
    traces, config = env.gather_traces(), env.gather_config()
    assert {
        *("domain", "initial_db_hash", "final_db_hash", "final_user_db_hash", "db_changed")
    } <= traces.keys()
    assert traces["db_changed"] is False
    assert {"domain", "toolkit_stats", "db_stats"} <= config.keys()
    made = tau2.get_environment_constructor(task.environment_data)(solo_mode=False)
    assert made.domain == "retail" and made is not env
    telecom = Tau2Environment(load_tasks("telecom", limit=1)[0].environment_data)
    assert telecom.user_toolkit is not None and "check_status_bar" in telecom.create_user_tools()
    assert telecom.user_toolkit.db.user_db.device is telecom.db.user_db.device
    assert telecom.gather_traces()["db_changed"] is False  # a bug there: always True
    assertion = {"env_type": "user", "func_name": "assert_airplane_mode_status"}
    assertion |= {"arguments": {"expected_status": True}, "assert_value": False}
    assert telecom.run_env_assertion(assertion) is True
    with pytest.raises(AssertionError):
        telecom.run_env_assertion({**assertion, "assert_value": True})
    assert telecom.run_env_assertion({**assertion, "assert_value": True}, False) is False
