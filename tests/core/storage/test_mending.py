import pytest

from maseval.core.storage.records import mend


@pytest.mark.parametrize("padding", [0, 10, 70_000, 200_000])
def test_a_torn_line_is_moved_beside_the_file_before_it_is_resumed(tmp_path, padding):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"n": 1}\n')
    torn = b'{"n": 2, "padding": "' + b"x" * padding
    for number in (1, 2):
        with path.open("ab") as file:
            file.write(torn)

        assert mend(path) == tmp_path / f"torn-{number}.jsonl"
        assert (tmp_path / f"torn-{number}.jsonl").read_bytes() == torn
        assert path.read_bytes() == b'{"n": 1}\n'


def test_a_file_that_is_only_a_torn_line_becomes_empty(tmp_path):
    path = tmp_path / "r.jsonl"
    path.write_bytes(b'{"n"')

    assert mend(path) == tmp_path / "torn-1.jsonl"
    assert path.read_bytes() == b""


@pytest.mark.parametrize("content", [b"", b'{"n": 1}\n', b'{"n": 1}', b"damaged\n"])
def test_mending_keeps_every_whole_record_and_every_line_with_an_end(tmp_path, content):
    path = tmp_path / "r.jsonl"
    path.write_bytes(content)

    assert mend(path) is None
    assert path.read_bytes() == content.rstrip() + b"\n" * bool(content)
