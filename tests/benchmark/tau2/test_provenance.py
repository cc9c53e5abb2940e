"""Every file that derives from the original names it, in the words of one list."""

from scripts.provenance import PACKAGE, complaints, line_for, sources


def test_every_file_that_follows_the_original_names_it_and_the_page_has_the_list():
    assert list(complaints()) == []


def test_a_file_that_names_nothing_or_that_nobody_listed_is_found(tmp_path):
    for name, theirs in sources().items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f'"""Ours.\n\n{line_for(theirs)}\n"""\n')
    assert list(complaints(tmp_path)) == []
    (tmp_path / "agent.py").write_text('"""Ours."""\n')
    (tmp_path / "new.py").write_text("def new(): ...\n")

    assert [each.partition(":")[0] for each in complaints(tmp_path)] == ["agent.py", "new.py"]


def test_each_line_is_one_line():
    assert all(len(line_for(theirs)) <= 100 for theirs in sources().values())
    assert len(sources()) > 50 and (PACKAGE / "PROVENANCE.md").is_file()
