"""``maseval demo``: something real to look at, with data and without."""

import re
from pathlib import Path

import pytest

from tests.cli.commandline import maseval


@pytest.fixture
def no_data_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty cache, a source that does not exist, and no network."""
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("MASEVAL_TAU2_DATA", str(tmp_path / "nowhere.zip"))
    for variable in ("HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(variable, "http://127.0.0.1:9")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "")
    monkeypatch.setenv("PIP_RETRIES", "0")


def test_without_data_it_says_so_and_takes_the_built_in_domain(
    no_data_anywhere, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)

    result = maseval("demo", "--output", "demo")

    assert result.exit_code == 0 and "Report: demo/report.html" in result.stdout
    assert "built-in library domain" in result.stderr
    assert (tmp_path / "demo" / "report.html").exists()
    stages = ["1/3 looking for the data", "is not available", "2/3 running", "48/48 done", "3/3 "]
    found = [result.stderr.index(stage) for stage in stages]
    assert found == sorted(found)


def test_make_demo_installs_the_product_and_nothing_for_development():
    makefile = (Path(__file__).parents[2] / "Makefile").read_text()
    rule = re.search(r"^\$\(DEMO_READY\):(.*?)\n\n", makefile, re.M | re.S)[1]

    assert re.search(r"^demo: \$\(DEMO_READY\) ##", makefile, re.M)
    assert '-e ".[view]"' in rule and "requirements/" not in rule
    assert rule.count("echo") == 1


def test_commands_to_try_next_work_as_they_stand(no_data_anywhere, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.argv", ["env/bin/maseval", "demo"])
    monkeypatch.setenv("PATH", "")

    printed = maseval("demo", "--output", "demo")

    assert "Next: env/bin/maseval view" in printed.stdout + printed.stderr
    assert "env/bin/maseval show demo" in printed.stdout + printed.stderr
