from maseval.commands import tau2
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
