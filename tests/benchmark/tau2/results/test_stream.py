"""The stream reads what ``json.loads`` reads, wherever the text is cut, and fails alike."""

import gzip
import io
import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from maseval.benchmark.tau2.results.layout import JsonFile, JsonStream, JsonStreamError

# Characters that mean something to a parser come up more often than chance would have it.
texts = st.text(
    st.sampled_from('{}[]",:\\u0dé\U0001f600 \n') | st.characters(codec="utf-8"), max_size=12
)
scalars = st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts)
documents = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
chunks = st.integers(min_value=1, max_value=40)
layouts = st.sampled_from([{"indent": 2}, {"ensure_ascii": False}, {"separators": (",", ":")}])


def stream_of(text: str, chunk: int = 7) -> JsonStream:
    return JsonStream(io.BytesIO(text.encode()), chunk=chunk)


@given(document=documents, chunk=chunks, layout=layouts)
def test_a_value_is_read_whole_wherever_it_is_cut(document, chunk, layout):
    text = json.dumps(document, **layout)

    stream = stream_of(text, chunk)

    assert stream.value() == document
    stream.finish()
    assert stream.offset == len(text)


@given(document=st.dictionaries(texts, documents, max_size=5), chunk=chunks)
def test_what_is_skipped_is_passed_over_exactly(document, chunk):
    stream = stream_of(json.dumps([document, "after"]), chunk)
    elements = stream_of(json.dumps(document) + ' "after"', chunk)

    elements.skip()

    assert elements.value() == "after"
    assert list(stream.elements())[1] == "after"


@given(
    text=st.text(st.sampled_from('{}[]",:\\u0123truefalsn.eE+- NaIity'), max_size=30), chunk=chunks
)
def test_any_text_is_accepted_or_refused_as_json_loads_does(text, chunk):
    try:
        expected = json.loads(text)
    except ValueError:
        with pytest.raises(JsonStreamError):
            read_all(text, chunk)
    else:
        found = read_all(text, chunk)
        assert found == expected or (math.isnan(found) and math.isnan(expected))


def read_all(text: str, chunk: int) -> object:
    stream = stream_of(text, chunk)
    value = stream.value()
    stream.finish()
    return value


@given(
    document=st.lists(st.dictionaries(texts, documents, max_size=3), min_size=1, max_size=4),
    chunk=chunks,
    data=st.data(),
)
def test_a_text_that_is_cut_off_gives_its_whole_elements_and_then_says_so(document, chunk, data):
    text = json.dumps(document)
    length = data.draw(st.integers(min_value=0, max_value=len(text) - 1))
    elements = stream_of(text[:length], chunk).elements()
    found = []

    with pytest.raises(JsonStreamError, match=f"at character {length}$") as caught:
        found.extend(elements)  # keeps what came before the error

    assert caught.value.offset == length
    assert found == document[: len(found)]


@pytest.mark.parametrize(
    ("text", "offset", "problem"),
    [
        ('[1, "é", oops]', 9, "Expecting value"),
        ('{"a" 1}', 5, "expected ':'"),
        ("{a: 1}", 1, "expected a key"),
        ("[1 2]", 3, "expected ','"),
        ('["a\nb"]', 3, "Invalid control character"),
        ("[" * 200_000, 1, "nested too deeply"),
        ("[" + "9" * 5000 + "]", 1, "limit"),
    ],
)
def test_damage_is_named_with_its_place(text, offset, problem):
    stream = stream_of(text, 1 << 20)

    with pytest.raises(JsonStreamError, match=problem) as caught:
        for _ in stream.members() if text.startswith("{") else stream.elements():
            if text.startswith("{"):
                stream.value()

    assert caught.value.offset == offset


def test_damage_is_found_before_the_rest_of_the_text_is_read():
    file = io.BytesIO(b'[{"a": 1}, {"a": oops}, ' + b'{"a": 1}, ' * 100_000 + b"{}]")

    with pytest.raises(JsonStreamError, match="character 17"):
        list((stream := JsonStream(file, chunk=64)).elements())

    assert stream.offset < file.tell() < 10_000


def test_bytes_that_are_no_text_are_named():
    with pytest.raises(JsonStreamError, match="not UTF-8"):
        JsonStream(io.BytesIO(b'["\xff\xfe"]')).value()


def test_a_byte_order_mark_is_passed_over():
    stream = JsonStream(io.BytesIO(b"\xef\xbb\xbf[1]"), chunk=1)

    assert stream.value() == [1]


def test_a_packed_file_that_is_cut_off_or_damaged_is_named(tmp_path):
    path, packed = tmp_path / "a.json.gz", gzip.compress(json.dumps(list(range(1000))).encode())

    path.write_bytes(packed[:-200])
    with pytest.raises(JsonStreamError), JsonFile(path) as stream:
        stream.value()

    path.write_bytes(packed[:40] + b"\0" * 40 + packed[80:])
    with pytest.raises(JsonStreamError), JsonFile(path) as stream:
        stream.value()
