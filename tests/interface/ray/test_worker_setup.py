"""Preparation of a worker: code of one's own, environment variables, equal versions."""

import inspect
import json
import pickle
import re
import sys
import traceback

import pytest

from maseval.core.engine.worker_setup import (
    ModuleSource,
    NodeMismatchError,
    check_same,
    code_facts,
    install,
    needed_by_workers,
    own_modules,
    own_secrets,
)


@pytest.fixture(autouse=True)
def import_system_as_before(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_modules_of_the_checkout_are_ones_own_and_installed_ones_are_not():
    found = own_modules()

    assert __name__ in found and "tests.core.worlds" not in sys.modules.keys() - found.keys()
    assert not {"json", "pytest", "pydantic", "maseval", "maseval.core.task"} & found.keys()
    assert found[__name__].text.startswith(b'"""Preparation of a worker')


def test_what_was_sent_is_imported_from_its_text_with_the_packages_around_it(tmp_path):
    modules = {
        "sent.inner.agent": ModuleSource(
            b"from sent.inner import helper\ndef agent(): return helper.words()\n",
            "/x/agent.py",
            False,
        ),
        "sent.inner.helper": ModuleSource(
            b"def words():\n    raise ValueError('hm')\n", "/x/h.py", False
        ),
    }
    install(modules, [str(tmp_path), "/nowhere/at/all"])

    from sent.inner.agent import agent  # type: ignore[import-not-found]

    with pytest.raises(ValueError) as caught:
        agent()
    told = "".join(traceback.format_exception(caught.value))
    assert 'File "/x/h.py", line 2, in words\n    raise ValueError' in told
    assert inspect.getsource(agent).startswith("def agent()")
    assert str(tmp_path) in sys.path and "/nowhere/at/all" not in sys.path


def test_what_was_sent_comes_before_what_lies_on_the_machine(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("WHO = 'there'\n")
    install({"neighbour_of_mine": ModuleSource(b"WHO = 'sent'\n", "n.py", False)}, [str(tmp_path)])

    import neighbour_of_mine  # type: ignore[import-not-found]

    assert neighbour_of_mine.WHO == "sent"


@pytest.mark.parametrize(
    ("theirs", "told"),
    [({"db": "2"}, "db is 2 there and 1 here"), ({}, r"db is \(none\) there and 1 here")],
)
def test_other_code_or_data_is_refused_and_both_are_named(theirs, told):
    with pytest.raises(NodeMismatchError, match=f"node 10.0.0.2 is refused: {told}; fetch it"):
        check_same("10.0.0.2", theirs, {"db": "1"}, "fetch it")


def test_code_is_told_by_its_versions_and_its_text():
    assert re.fullmatch(r"\d+\.\d+\.\d+\S* \(code [0-9a-f]{12}\)", code_facts()["maseval"])


def test_keys_and_addresses_travel_and_nothing_else(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost")
    monkeypatch.setenv("SHOE_SIZE", "42")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of this cluster")

    found = needed_by_workers()

    assert found["OPENAI_API_KEY"] == "sk-1" and found["OPENAI_BASE_URL"] == "http://localhost"
    assert not {"SHOE_SIZE", "PATH", "HOME", "RAY_AUTH_TOKEN"} & found.keys()
    assert needed_by_workers(["SHOE_SIZE"])["SHOE_SIZE"] == "42"


def test_the_secrets_of_a_machine_are_those_that_were_not_sent_to_it(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-driver")
    monkeypatch.setenv("NODE_API_KEY", 'sk-"of"-the-nöde')

    own = own_secrets({"OPENAI_API_KEY": "sk-of-the-driver"})
    arguments = json.dumps({"key": 'sk-"of"-the-nöde'})
    report = {"answer": 'sk-"of"-the-nöde, sk-of-the-driver', "arguments": arguments}

    assert all(own.are_in(pickle.dumps([each], 5)) for each in report.values())
    assert not own.are_in(pickle.dumps(["sk-of-the-driver"], 5))
    assert own.removed_from(report) == {
        "answer": "<redacted>, sk-of-the-driver",
        "arguments": '{"key": "<redacted>"}',
    }


def test_a_key_that_is_empty_or_short_is_nowhere(monkeypatch):
    monkeypatch.setenv("NODE_API_KEY", "")
    monkeypatch.setenv("OTHER_API_KEY", "ab")

    assert not own_secrets({}).are_in(pickle.dumps(["drab"], 5))
