"""Records scored in parts, which other processes read: equal to one process, whatever is odd."""

import gzip
import json
import pickle
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from maseval.benchmark.tau2.certify import certify
from maseval.benchmark.tau2.results import read_results, reading
from maseval.benchmark.tau2.results.reading import split_results
from maseval.commands import tau2
from maseval.core.engine.engines import MappedBatch
from maseval.core.storage import files as storage_files
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
            function, values = pickle.loads(pickle.dumps((function, batch)))
            try:
                result = pickle.loads(pickle.dumps(function(values)))
            except Exception:
                result = None
            self.applied.append(result is not None)
            yield MappedBatch(batch, result, "here")


@pytest.fixture(autouse=True)
def small_parts(monkeypatch):
    monkeypatch.setattr(storage_files, "_WORTH_DIVIDING", 1)
    monkeypatch.setattr(storage_files, "_SMALLEST_PART", 1)
    monkeypatch.setattr(reading, "_WINDOW", 1 << 14)
    monkeypatch.setattr(reading, "_FILES", 7)


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


def divided(file):
    """Score in parts, and tell how many of them counted and how many did not."""
    engine = InTurn()
    return scored(file, engine=engine), engine.applied


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
        found, applied = divided(file)
        assert found == scored(file, engine="threads")
        assert len(applied) > 4
        assert all(applied)


@pytest.mark.parametrize("change", CORPUS, ids=lambda each: each.change.__name__)
def test_doctored_files_have_the_same_faults(change, document, tmp_path):
    file = tmp_path / "doctored.json"
    file.write_text(doctored(document, change.change))

    ways = {"remap_tasks": True, "strict": True} if "id" in change.change.__name__ else {}
    assert scored(file, engine=InTurn(), **ways) == scored(file, engine="threads", **ways)


def test_every_simulation_is_in_one_part_wherever_these_begin(document, tmp_path):
    file = tmp_path / "results.json"
    document = json.loads(json.dumps(document))
    document["simulations"][3]["messages"][0]["content"] = "Käse für 5 € \U0001f9c0 {"
    del document["simulations"][20:]
    for text in (
        json.dumps(document),
        json.dumps(document, indent=2, ensure_ascii=False),
        json.dumps(dict(reversed(document.items()))),
        "".join(json.dumps({"simulation": each}) + "\n" for each in document["simulations"]),
    ):
        file.write_text(text)
        for readers in (1, 3, 40):
            whole, at, found = read_results(file), 0, []
            for part in split_results(whole, readers):
                found += [each["id"] for each in part]
                assert part.start == at
                at = part.end
                if at is None:
                    break
            assert found == [each["id"] for each in whole]


def test_what_only_looks_like_a_simulation_is_noticed(document, tmp_path):
    file = tmp_path / "results.json"
    document = json.loads(json.dumps(document))
    alike = {**document["simulations"][0], "messages": []}
    for each in document["simulations"]:
        each["seen_before"] = [alike] * 20
    file.write_text(json.dumps(document))
    number = len(document["simulations"])

    found, applied = divided(file)

    assert found == scored(file, engine="threads")
    assert len(applied) < len(list(split_results(read_results(file), 2)))  # the rest was read here
    assert json.loads(found)[0]["simulations"] == number


def damaged_texts(document):
    text = json.dumps(document)
    broken = json.loads(text)
    broken["simulations"][7]["messages"] = 7
    yield "cut off", text[: len(text) * 2 // 3]
    yield "not JSON", text[: len(text) // 2] + "\x00" + text[len(text) // 2 :]
    yield "malformed", json.dumps(broken)
    yield "two lists", text[:-1] + ', "simulations": []}'
    yield "no list", json.dumps({**document, "simulations": 7})


def test_damage_is_reported_as_by_one_process(document, tmp_path):
    for name, text in damaged_texts(document):
        file = tmp_path / f"{name}.json"
        file.write_text(text)
        found = [outcome(file, engine=engine) for engine in ("threads", InTurn())]
        assert found[0] == found[1], name


def outcome(file, **more):
    try:
        return scored(file, **more)
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def test_a_packed_file_is_read_as_one(document, tmp_path):
    file = tmp_path / "results.json.gz"
    file.write_bytes(gzip.compress(json.dumps(document).encode()))

    found, applied = divided(file)

    assert applied == []
    assert found == scored(file, engine="threads")


def test_a_file_that_another_machine_has_otherwise_is_scored_here(run):
    file = run.parent / "library.json"

    class Elsewhere(InTurn):
        def mapped(self, function, batches):
            every = list(batches)
            for (part,) in every:
                part.source._state = (1, 1)
            return super().mapped(function, every)

    engine = Elsewhere()
    assert scored(file, engine=engine) == scored(file, engine="threads")
    assert engine.applied[0] is False


def test_processes_find_the_same(run):
    assert scored(run, processes=2) == scored(run, engine="threads")
