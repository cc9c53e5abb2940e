"""A site has what the server would answer, whole or not at all, and nothing of the machine."""

import base64
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from maseval import commands
from maseval.commands import tau2
from maseval.core.exceptions import NotRunError, OutputExistsError
from maseval.report.page import bundle_script, module_order
from maseval.runs import RunFolder
from maseval.view.api import answers
from maseval.view.app import asset_text
from maseval.view.library import Library
from maseval.view.requests import Query
from maseval.view.site import MARK
from tests.cli.commandline import maseval
from tests.damage import DAMAGES
from tests.report.reading import rows_of
from tests.runs.worlds import config, finished_run, report
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")


@pytest.fixture(autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of two runs, a results file, and the site of them."""
    root = tmp_path_factory.mktemp("played") / "runs"
    for name, error_rate in (("careful", 0.0), ("hurried", 0.5)):
        options = {"agent": "noisy", "agent_args": {"error_rate": error_rate}}
        tau2.run(domain="library", num_tasks=3, trials=2, output=root / name, **options)
    tau2.export(root / "hurried", root / "files" / "theirs.json")
    return root


@pytest.fixture(scope="module")
def site(played: Path) -> Path:
    return commands.export_site(played.parent / "site", played).folder


def read(site: Path, name: str) -> dict[str, Any] | list[dict[str, Any]]:
    """What a file of a site hands over."""
    handed, packed = json.loads(f"[{(site / 'data' / f'{name}.js').read_text()[8:-2]}]")
    assert handed == name
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def packets(site: Path, folder: str) -> list[dict[str, Any]]:
    """The packets of all tasks of a run."""
    index = read(site, f"{folder}/index")
    files = -(-len(index["tasks"]) // index["tasks_per_file"])
    found = [read(site, f"{folder}/{number}") for number in range(files)]
    assert all(len(each) == index["tasks_per_file"] for each in found[:-1])
    return [packet for each in found for packet in each]


def folders(site: Path) -> dict[str, str]:
    return {row["name"]: row["folder"] for row in read(site, "runs")["runs"]}


def contents(folder: Path) -> dict[str, bytes]:
    files = sorted(each for each in folder.rglob("*") if each.is_file())
    return {str(each.relative_to(folder)): each.read_bytes() for each in files}


def texts(site: Path) -> dict[str, str]:
    names = [str(each.relative_to(site / "data"))[:-3] for each in site.glob("data/**/*.js")]
    return {name: json.dumps(read(site, name)) for name in names}


def test_a_site_has_the_list_the_runs_and_their_simulations(site):
    rows = {row["name"]: row for row in read(site, "runs")["runs"]}
    assert set(rows) == {"careful", "hurried", "files/theirs.json"}
    assert rows["hurried"]["planned"] == rows["files/theirs.json"]["planned"] == 6
    for name in rows:
        index = read(site, f"{rows[name]['folder']}/index")
        found = packets(site, rows[name]["folder"])
        assert len(found) == len(index["tasks"]) == 3
        assert sum(len(each["trials"]) for each in found) == len(rows_of(index)) == 6
        assert all(each["messages"] for packet in found for each in packet["trials"])


def test_every_failure_is_labelled_and_explained(site):
    folder = folders(site)["hurried"]
    index = read(site, f"{folder}/index")
    failed = [each for each in rows_of(index) if each["outcome"] == "fail"]
    assert failed
    for each in failed:
        packet = packets(site, folder)[each["task"]]
        trial = packet["trials"][packet["names"].index(each["trial"])]
        assert each["labels"][0] == trial["explanation"]["label"]["name"]


def test_the_numbers_are_those_of_the_report(site, played, tmp_path):
    written = commands.report(played / "hurried", tmp_path / "report.html").read_text()
    report = json.loads(written.partition('id="index">')[2].partition("</script>")[0])
    index = read(site, f"{folders(site)['hurried']}/index")
    for part in ("facts", "results", "simulations", "tasks"):
        assert index[part] == report[part], part


def test_the_databases_after_each_message_are_there_without_a_command_of_this_machine(site):
    packet = packets(site, folders(site)["hurried"])[0]
    assert packet["names"] == ["0", "1"]
    for each in packet["trials"]:
        assert each["timeline"]["messages"] and "branch" not in each["timeline"]


def test_every_two_runs_are_compared(site, played):
    of = folders(site)
    found = read(site, f"compare/{of['careful']}/{of['hurried']}")
    assert found["names"] == ["careful", "hurried"]
    asked = Query([("run", name) for name in found["names"]])
    alone = answers()["/api/compare"](Library(played), asked)
    assert found["tasks"] == json.loads(json.dumps(alone["tasks"])) and len(found["tasks"]) == 3
    assert found["reasons"]["verdicts"]
    assert read(site, "runs")["groups"] == [read(site, "compare/group-0")["names"]]
    assert len(read(site, "compare/group-0")["names"]) == 3
    assert len([*site.glob("data/compare/*/*.js")]) == 3  # once, whichever is named first


def test_the_same_runs_make_the_same_site(site, played, tmp_path):
    again = commands.export_site(tmp_path / "elsewhere" / "again", played)
    assert contents(again.folder) == contents(site)
    assert (again.runs, again.simulations, again.unreadable) == (3, 18, {})
    assert again.bytes == sum(map(len, contents(site).values()))


@pytest.mark.skipif(sys.platform != "linux", reason="only there a process can be forked safely")
def test_several_processes_write_the_same_files_of_a_few_tasks_each(
    site, played, tmp_path, monkeypatch
):
    code = (
        "from maseval.view import site; from maseval import commands\n"
        "assert site.may_fork() and site.usable_cores(); site._MANY = site._AT_A_TIME = 1\n"
        f"commands.export_site({str(tmp_path / 'again')!r}, {str(played)!r})"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "knows nothing"))
    monkeypatch.setattr("maseval.view.site._AT_A_TIME", 1)
    alone = commands.export_site(tmp_path / "alone", played).folder
    assert contents(tmp_path / "again") == contents(alone)
    for folder in folders(site).values():
        assert len([*(alone / "data" / folder).glob("[0-9].js")]) == 3
        assert packets(alone, folder) == packets(site, folder)


def test_a_site_is_renewed_as_a_whole(tmp_path):
    finished_run(tmp_path / "runs" / "one", "a")
    commands.export_site(tmp_path / "site", tmp_path / "runs")
    (tmp_path / "runs" / "one").rename(tmp_path / "runs" / "two")
    commands.export_site(tmp_path / "site", tmp_path / "runs")

    assert set(folders(tmp_path / "site")) == {"two"}
    assert {each.name for each in (tmp_path / "site" / "data").iterdir()} == {
        "runs.js",
        folders(tmp_path / "site")["two"],
    }
    assert sorted(each.name for each in tmp_path.iterdir()) == ["runs", "site"]


def test_a_single_run_is_exported_alone(played, tmp_path):
    assert commands.export_site(tmp_path / "site", played / "careful").simulations == 6
    assert list(folders(tmp_path / "site")) == ["careful"]


def test_an_interrupted_export_changes_nothing_and_leaves_nothing(played, tmp_path):
    finished_run(tmp_path / "runs" / "one", "a")
    site = commands.export_site(tmp_path / "site", tmp_path / "runs").folder
    before = contents(site)

    def interrupt(words):
        assert " of 12 simulations" in words  # what results files hold is known when they are read
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        commands.export_site(site, played, on_progress=interrupt)
    assert contents(site) == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["runs", "site"]


@pytest.mark.parametrize("kind", ["other folder", "site with more in it", "file"])
def test_what_is_not_a_site_is_not_overwritten(tmp_path, kind):
    finished_run(tmp_path / "runs" / "one", "a")
    target = tmp_path / "site"
    if kind == "file":
        target.write_text("mine")
    elif kind == "other folder":
        target.mkdir()
        (target / "thesis.tex").write_text("mine")
    else:
        commands.export_site(target, tmp_path / "runs")
        (target / "thesis.tex").write_text("mine")
    before = contents(tmp_path)

    with pytest.raises(OutputExistsError, match=r"site .*give (another folder|the name of a new)"):
        commands.export_site(target, tmp_path / "runs")
    assert {name: each for name, each in contents(tmp_path).items() if name in before} == before
    if kind != "file":
        (target / "thesis.tex").unlink()  # the way out that it names
        commands.export_site(target, tmp_path / "runs")
        assert (target / MARK).exists()


def test_a_folder_without_runs_is_refused(tmp_path):
    (tmp_path / "runs").mkdir()
    with pytest.raises(NotRunError, match=r"no run is in .*maseval demo"):
        commands.export_site(tmp_path / "site", tmp_path / "runs")
    assert not (tmp_path / "site").exists()


def test_an_unreadable_run_is_listed_as_such(tmp_path):
    finished_run(tmp_path / "runs" / "good", "a")
    bad = finished_run(tmp_path / "runs" / "bad", "a")
    (bad / "config.json").write_text("{")
    (bad / "log.jsonl").write_text("{")

    site = commands.export_site(tmp_path / "site", tmp_path / "runs")

    rows = {row["name"]: row for row in read(site.folder, "runs")["runs"]}
    assert (rows["good"]["state"], rows["bad"]["state"]) == ("complete", "damaged")
    assert list(site.unreadable) == ["bad"] and rows["bad"]["problem"]
    assert read(site.folder, f"{rows['bad']['folder']}/index")["error"] == site.unreadable["bad"]


def test_every_folder_that_is_listed_is_exported(tmp_path):
    root = tmp_path / "runs"
    for name in ("plain", ".hidden", "with space", "back\\slash", "what?", "simulations"):
        finished_run(root / name, "a")
    (root / "results.json").write_text("{}")
    (root / "link").symlink_to(finished_run(tmp_path / "elsewhere", "a"))
    site = commands.export_site(tmp_path / "site", root).folder

    listed = {
        Path(each["path"]).name for each in json.loads(maseval("runs", root, "--json").stdout)
    }
    assert {row["name"] for row in read(site, "runs")["runs"]} == listed and len(listed) == 7


def test_a_damaged_log_is_marked_in_the_list_and_on_its_page(tmp_path):
    run = finished_run(tmp_path / "runs" / "run", "a", "b")
    DAMAGES["cut"].do(run)
    site = commands.export_site(tmp_path / "site", tmp_path / "runs").folder
    [row] = read(site, "runs")["runs"]
    assert row["state"] == "damaged" and "missing or cut off" in row["problem"]
    assert "missing or cut off" in json.dumps(read(site, f"{row['folder']}/index"))


def test_the_plan_of_an_unfinished_run_is_there(tmp_path):
    with RunFolder.open(tmp_path / "runs" / "run", config("a", "b", trials=2)) as folder:
        folder.append(report("a"))

    site = commands.export_site(tmp_path / "site", tmp_path / "runs").folder

    index = read(site, f"{folders(site)['run']}/index")
    assert [each["unrecorded"] for each in index["tasks"]] == [["1"], ["0", "1"]]
    assert packets(site, folders(site)["run"])[1]["trials"] == []


def test_no_path_and_no_key_of_the_machine_is_in_it(tmp_path):
    error = {
        "type": "agent_error",
        "message": f"no such file: {tmp_path}/notes.txt; bearer abcdefghijklmnop",
        "traceback": 'File "/opt/elsewhere/python3.11/agent.py", line 1\n/opt/elsewhere/x.py',
    }
    broken = report("a", status="agent_error", error=error, eval=None)
    command = f"maseval run --output {tmp_path}/runs --data /opt/elsewhere/data"
    with RunFolder.open(tmp_path / "runs" / "run", config("a", command=command)) as folder:
        folder.append(broken)
    finished_run(tmp_path / "runs" / "bad", "a")
    (tmp_path / "runs" / "bad" / "config.json").write_text("{")

    site = commands.export_site(tmp_path / "site", tmp_path / "runs").folder

    whole = texts(site)
    for kept in ("notes.txt", "agent.py", "--data \\u2026/data"):
        assert any(kept in text for text in whole.values())
    for name, text in whole.items():
        for unwanted in (str(tmp_path), "/opt/elsewhere", "abcdefghijklmnop"):
            assert unwanted not in text, name
    assert not any(str(tmp_path).encode() in each for each in contents(site).values())


def test_the_script_of_a_site_is_the_viewers(played):
    modules = module_order("view/view.js", asset_text)
    served = {"view/view.js"}
    with viewer(played) as client:
        for name in modules:
            for way, each in re.findall(
                r'from "(\.\.?)/(\w+\.js)"', client.get(f"/assets/{name}").text
            ):
                inner = name.startswith("view/") and way == "."
                served.add(f"view/{each}" if inner else each)
    assert set(modules) == served
    assert not re.search(r"^(import|export) ", bundle_script("view/view.js", asset_text), re.M)


def test_no_two_modules_of_a_site_declare_the_same_name():
    script = bundle_script("view/view.js", asset_text)
    declared = re.findall(r"^(?:async )?(?:function\*?|const|let|class) (\w+)", script, re.M)
    assert len(declared) > 300
    assert sorted(name for name in set(declared) if declared.count(name) > 1) == []


def test_the_command_says_how_large_the_site_is_and_where_it_begins(tmp_path):
    finished_run(tmp_path / "runs" / "one", "a")
    done = maseval("view", str(tmp_path / "runs"), "--export", str(tmp_path / "site"))
    assert done.exit_code == 0
    assert "1 run with 1 simulation (" in done.stdout and "index.html" in done.stdout
