import pytest

from maseval import commands
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError
from maseval.runs import RunFolder
from maseval.runs.recording import ReadOnce


def test_what_is_read_once_says_the_same_and_needs_the_files_no_more(tmp_path):
    result = tau2.run(domain="library", agent="gold", num_tasks=2, output=tmp_path / "run")
    folder = RunFolder.read(result.folder)
    held = ReadOnce(folder)

    assert list(held.reports()) == list(folder.reports())
    assert (held.path, held.config) == (folder.path, folder.config)
    assert list(held.planned) == list(folder.planned)
    folder.log.unlink()
    assert len(list(held.reports())) == 2
    assert all(held.report(one)["task_id"] == one.task_id for one in held.recorded)


def test_one_run_may_be_named_without_a_list(tmp_path):
    run = str(tau2.run(domain="library", agent="gold", num_tasks=2, output=tmp_path / "r").folder)

    assert [len(f(run)) for f in (commands.score, commands.comply)] == [1, 1]
    (tagged,) = commands.tag(run, ["mine"]).values()
    assert tagged.tags == ("mine",)
    with pytest.raises(ConfigurationError, match="1 run cannot be compared"):
        commands.compare(run)
