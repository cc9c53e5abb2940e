"""``maseval run``: a benchmark of one's own from the command line, and what can be done with it."""

import pytest

from tests.cli.commandline import maseval

BOOKING = ("run", "examples.booking:BookingBenchmark")
pytestmark = pytest.mark.usefixtures("in_a_folder_of_its_own")


def test_a_run_is_printed_kept_and_looked_at_like_one_of_tau2(tmp_path):
    done = maseval(*BOOKING, "--trials", 2, "--seed", 7, "--agent-data", "slip_rate=0.2", "-o", "a")
    maseval(*BOOKING, "--trials", 2, "--seed", 7, "--output", "b")

    assert done.exit_code == 0 and "24/24" in done.stdout and "maseval show a" in done.stdout
    shown = maseval("show", "a")
    assert "exact-fit" in shown.stdout and "domain" not in shown.stdout.split("passed")[-2]
    assert "task trio, trial 0" in maseval("show", "a", "trio").stdout
    assert "percentage points" in maseval("compare", "a", "b").stdout
    assert maseval("report", "a").exit_code == 0 and (tmp_path / "a" / "report.html").exists()
    assert "BookingBenchmark" in maseval("runs", ".").stdout


def test_a_benchmark_of_the_file_is_suggested_before_one_that_it_imports(tmp_path):
    (tmp_path / "shop.py").write_text(
        "from examples.booking import BookingBenchmark\nclass Shopping(BookingBenchmark): pass\n"
    )

    done = maseval("run", f"{tmp_path / 'shop.py'}:ShoppingBenchmark")

    assert "did you mean 'Shopping'?" in done.stderr


def test_a_file_where_a_folder_is_needed_is_called_a_file(tmp_path):
    (tmp_path / "results.json").write_text("{}")

    done = maseval("bundle", tmp_path / "results.json")

    assert "results.json is a file; this needs the folder of a run" in " ".join(done.stderr.split())
