"""Records scored by other processes: equal to one process, whatever is odd."""

import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from maseval.benchmark.tau2.certify import certify
from maseval.benchmark.tau2.rescoring import rescore
from maseval.benchmark.tau2.results import read_results
from maseval.commands import tau2
from maseval.core.engine.engines import MappedBatch
from tests.benchmark.tau2.app.doctored import CORPUS, doctored


class InTurn:
    """An engine that applies a function here, to copies as another process would get them."""

    processes = 2

    def __init__(self) -> None:
        self.applied: list[bool] = []

    def workers(self, job: Any) -> Any:
        raise NotImplementedError

    def mapped(
        self, function: Any, batches: Iterable[Sequence[Any]]
    ) -> Iterator[MappedBatch[Any, Any]]:
        for batch in batches:
            values = pickle.loads(pickle.dumps(batch))
            try:
                result = pickle.loads(pickle.dumps(function(values)))
            except Exception:
                result = None
            self.applied.append(result is not None)
            yield MappedBatch(batch, result, "here")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(rescore, "_WORTH_SHARING", 1)
    monkeypatch.setattr(rescore, "_AT_ONCE", 4)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("scored")
    options = {"agent": "noisy", "agent_args": {"error_rate": 0.4}, "trials": 2}
    found = tau2.run(domain="library", output=folder / "run", **options)
    tau2.export(found.folder, folder / "library.json")
    return found.folder


@pytest.fixture(scope="module")
def document(run):
    return json.loads((run.parent / "library.json").read_text())


def scored(file, **more):
    return json.dumps([each.to_dict() for each in tau2.score([file], **more)])


def test_a_certificate_is_the_same_in_parts(run, document, tmp_path):
    odd = tmp_path / "odd.json"
    document = json.loads(json.dumps(document))
    document["simulations"][7]["messages"][2]["timestamp"] = "1999-01-01T00:00:00"
    document["simulations"][9]["id"] = document["simulations"][3]["id"]
    odd.write_text(json.dumps(document))

    for file in (run.parent / "library.json", odd):
        engine = InTurn()
        found = certify(read_results(file), engine=engine)
        assert found.to_json() == certify(read_results(file)).to_json()
        assert len(engine.applied) > 4 and all(engine.applied)
        kinds = {each["kind"] for each in found.content["findings"]}
        assert ({"times out of order", "repeated id"} <= kinds) is (file is odd)


def test_a_run_and_its_file_are_scored_in_parts(run):
    for file in (run, run.parent / "library.json"):
        engine = InTurn()
        found, applied = scored(file, engine=engine), engine.applied
        assert found == scored(file, engine="threads")
        assert len(applied) > 4
        assert all(applied)


@pytest.mark.parametrize("change", CORPUS, ids=lambda each: each.change.__name__)
def test_doctored_files_have_the_same_faults(change, document, tmp_path):
    file = tmp_path / "doctored.json"
    file.write_text(doctored(document, change.change))

    ways = {"remap_tasks": True, "strict": True} if "id" in change.change.__name__ else {}
    assert scored(file, engine=InTurn(), **ways) == scored(file, engine="threads", **ways)


def test_what_fails_elsewhere_is_scored_here(run):
    class Failing(InTurn):
        def mapped(self, function, batches):
            return super().mapped(lambda values: function(values) / 0, batches)

    engine = Failing()
    assert scored(run, engine=engine) == scored(run, engine="threads")
    assert engine.applied and not any(engine.applied)


def test_processes_find_the_same(run):
    assert scored(run, processes=2) == scored(run, engine="threads")
