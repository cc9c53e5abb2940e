"""The report of a run, of a results file, and of two runs compared."""

from itertools import chain
from pathlib import Path

import pytest

from maseval.commands import report, tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from maseval.stats import compare, difference_plot, outcomes_of
from tests.cli.commandline import maseval
from tests.noisy_runs import noisy_run, small_grid
from tests.report.reading import index_of, packets_of, rows_of


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reported")
    return [
        noisy_run(folder / name, rate).folder
        for name, rate in (("careful", 0.05), ("hurried", 0.4))
    ]


def test_a_simulation_comes_with_what_the_customer_wants(runs, tmp_path):
    page = report(runs[0], tmp_path / "page.html")

    wishes = {detail["wish"] for packet in packets_of(page) for detail in packet}
    assert "You want to renew the novel The Salt Road" in " ".join(wishes)
    assert all(task["note"] for task in index_of(page)["tasks"])
    assert set(index_of(page)["policies"]) == {"library"}
    first, *_ = index_of(page)["policies"]["library"]
    assert first["text"].startswith("#")
    assert {each["policy"] for each in chain(*packets_of(page))} == {first["sha256"]}


@pytest.mark.parametrize("against", [False, True], ids=["one run", "two runs"])
def test_a_simulation_comes_with_its_databases_after_each_message(runs, tmp_path, against):
    other = runs[1] if against else None
    page = report(runs[0], tmp_path / "page.html", against=other, explain=False)

    details = [detail for packet in packets_of(page) for detail in packet]
    assert len(details) == 24 * (1 + against)
    for each in details:
        numbers = {said["index"] for said in each["messages"]}
        assert numbers >= {moment["index"] for moment in each["timeline"]["messages"]}
    moments = [moment for each in details for moment in each["timeline"]["messages"]]
    assert any(call["changed"] for moment in moments for call in moment["calls"])


def test_runs_are_compared_on_one_page(runs, tmp_path):
    page = report(runs[0], tmp_path / "page.html", against=runs[1], explain=False)

    index = index_of(page)
    first, second = ([*RunFolder.read(run).reports()] for run in runs)
    found = compare(outcomes_of(first), outcomes_of(second))
    assert index["runs"] == index["compared"]["names"] == ["careful", "hurried"]
    assert len(rows_of(index)) == len(first) + len(second)
    rows = {row["name"]: row["measures"] for row in index["results"]["rows"]}
    assert rows["careful"][0]["value"] == pytest.approx(found.main.first)
    assert rows["hurried"][0]["value"] == pytest.approx(found.main.second)
    main = index["compared"]["differences"]["rows"][0]
    assert main[4].startswith(f"{100 * found.main.difference:+.1f} ")
    assert "sure" in index["compared"]["headline"] or "chance" in index["compared"]["headline"]
    flips = {flip.task: flip.change for flip in found.flipped}
    shares = {
        task["id"]: [letters.count("p") / len(letters) for (letters,) in task["cells"]]
        for task in index["compared"]["tasks"]
    }
    assert {task: b - a for task, (a, b) in shares.items() if a != b} == pytest.approx(flips)


def test_a_grid_is_reported_in_its_own_folder(tmp_path, monkeypatch):
    grid = small_grid(tmp_path, monkeypatch)

    page = report(grid, explain=False)

    assert page == grid / "report.html"
    index = index_of(page)
    assert index["title"] == "crossed"
    assert index["compared"]["grid"]["factors"] == ["system", "seed"]
    assert len(index["compared"]["names"]) == 4
    assert maseval("report", "crossed", "--no-explain", "-o", "page.html").exit_code == 0


def test_a_folder_without_runs_is_no_grid(tmp_path):
    with pytest.raises(ConfigurationError, match="neither a run nor a grid"):
        report(tmp_path)


def test_any_number_of_runs_is_compared(runs, tmp_path):
    third = tau2.run(domain="library", agent="gold", output=tmp_path / "gold").folder

    result = maseval("report", *runs, third, "-o", tmp_path / "a.html")
    again = maseval("report", *runs, third)

    assert (result.exit_code, again.exit_code) == (0, 0)
    compared = index_of(tmp_path / "a.html")["compared"]
    assert compared["names"] == ["careful", "hurried", "gold"]
    assert compared == index_of(runs[0] / "comparison.html")["compared"]
    assert [(each["first"], each["second"]) for each in compared["pairs"]] == [
        (0, 1),
        (0, 2),
        (1, 2),
    ]
    assert compared["headline"].startswith("gold leads by pass^1, 100.0%")
    assert compared["reasons"]["failed"][2] == 0


def test_the_plot_of_differences_names_both_runs_and_every_difference(runs):
    first, second = (outcomes_of(RunFolder.read(run).reports()) for run in runs)
    found = compare(first, second, names=("careful", "hurried"))

    drawn = str(difference_plot(found))

    assert "hurried minus careful" in drawn
    for each in found.differences:
        assert f"{100 * each.difference:+.1f}" in drawn


def test_the_page_says_how_the_run_was_started(tmp_path):
    command = "maseval tau2 run --domain library"
    for name, agent in (("one", "gold"), ("other", "noop")):
        options = {"output": tmp_path / name, "command": f"{command} --agent {agent}"}
        tau2.run(domain="library", agent=agent, num_tasks=1, **options)

    alone = index_of(report(tmp_path / "one", tmp_path / "page.html"))
    both = report(tmp_path / "one", tmp_path / "page.html", against=tmp_path / "other")

    assert dict(alone["facts"])["Command"] == f"{command} --agent gold"
    facts = dict(index_of(both)["facts"])
    assert facts["Command of other"] == f"{command} --agent noop"
    assert facts["Evaluated of other"] == "The scripted agent noop"
    assert facts["Seed"] == "300", "what all runs share is said once"
    assert "Evaluated" not in facts
