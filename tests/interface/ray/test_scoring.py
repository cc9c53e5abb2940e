"""Recorded conversations judged by processes of Ray: the same results, whatever dies."""

import json
import os
import signal

import pytest

from maseval.benchmark.tau2.rescoring import rescore
from maseval.commands import tau2
from maseval.core.exceptions import WorkerDiedError
from tests.benchmark.tau2.app.doctored import CORPUS, doctored
from tests.benchmark.tau2.app.test_own_domains import SHOP, task
from tests.cli.commandline import maseval
from tests.interface.libraries import needing

pytestmark = needing("ray")

BOTH = ((), ("--engine", "ray", "--processes", "2"))


@pytest.fixture(autouse=True)
def every_file_is_large(monkeypatch):
    monkeypatch.setattr(rescore, "_WORTH_SHARING", 1)


@pytest.fixture(scope="module")
def engine():
    from maseval.interface.ray.engine import RayEngine

    with RayEngine(processes=2) as engine:
        yield engine


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A run, its results file, files that lie, and one that is none."""
    folder = tmp_path_factory.mktemp("scored")
    options = {"agent": "noisy", "agent_args": {"error_rate": 0.4}, "trials": 2}
    run = tau2.run(domain="library", output=folder / "run", **options)
    tau2.export(run.folder, folder / "library.json")
    honest = json.loads((folder / "library.json").read_text())
    for number, each in enumerate(CORPUS):
        (folder / f"doctored-{number}.json").write_text(doctored(honest, each.change))
    (folder / "broken.json").write_text('{"simulations": [{"task_id":')
    return [run.folder, *sorted(folder.glob("*.json"))]


def test_the_results_are_those_of_one_process_byte_for_byte(engine, files):
    counts, ways = [], {"strict": True, "embedded_tasks": True}
    here = tau2.score(files, **ways)
    there = tau2.score(files, **ways, engine=engine, on_progress=counts.append)

    assert in_json(there) == in_json(here)
    assert [each.path.name for each in there.unreadable] == ["broken.json"]
    assert len(counts) == sum(each.simulations for each in here) > 100


def test_a_domain_of_ones_own_is_known_where_its_simulations_are_judged(engine, tmp_path):
    (tmp_path / "shop.py").write_text(SHOP.replace("NAME", "kites-scored-on-ray"))
    (tmp_path / "db.json").write_text(json.dumps({"kites": {"K1": {"kite_id": "K1"}}}))
    (tmp_path / "policy.md").write_text("# Sell kites\n")
    (tmp_path / "tasks.json").write_text(json.dumps([task("a"), task("b")]))
    domain = f"{tmp_path / 'shop.py'}:SHOP"
    run = tau2.run(domain=domain, agent="gold", trials=2, output=tmp_path / "run").folder

    there = tau2.score([run], engine=engine)

    assert there[0].agreeing == 4
    assert in_json(there) == in_json(tau2.score([run]))


def in_json(scores):
    return json.dumps([each.to_dict() for each in [*scores, *scores.unreadable]])


def test_the_command_prints_the_same(engine, files):
    here, there = (maseval("score", *map(str, files), "--json", *more) for more in BOTH)

    assert there.exit_code == here.exit_code == 1
    assert there.stdout == here.stdout
    assert there.stderr == here.stderr


def test_options_for_ray_ask_for_ray(files):
    wrong = maseval("score", str(files[0]), "--processes", "2", "--engine", "threads")

    assert wrong.exit_code != 0
    assert "processes is 2, but engine is 'threads'" in wrong.stderr


def test_a_process_that_dies_is_replaced_and_nothing_is_missing_or_out_of_order(engine, tmp_path):
    def work(values):
        died = tmp_path / f"died-{values[0]}"
        if values[0] % 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return [value * value for value in values]

    batches = [[number, number + 100] for number in range(6)]
    found = list(engine.mapped(work, batches))

    assert [each.values for each in found] == batches
    assert [each.result for each in found] == [[a * a, b * b] for a, b in batches]
    assert len(list(tmp_path.glob("died-*"))) == 3


def test_what_ends_its_process_every_time_is_named(engine):
    def work(values):
        if "poison" in values:
            os.kill(os.getpid(), signal.SIGKILL)
        return len(values)

    with pytest.raises(WorkerDiedError, match="worked on poison died 3 times"):
        list(engine.mapped(work, [["a", "b"], ["c", "poison", "d"], ["e"]]))
