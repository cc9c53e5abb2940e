import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from maseval.core.exceptions import ConfigurationError
from maseval.report import write_report
from tests.report.builders import report, said, simulated
from tests.report.reading import index_of, packets_of, rows_of

HOSTILE = "</script><script>alert(1)</script><!--\u2028&amp;\ud800\x00"


class Blocks(HTMLParser):
    """The elements of a page, and what stands in each script and style."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.tags = []
        self.texts = []
        self.inside = False
        self.feed(document)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attributes)))
        self.texts.append("")
        self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = False

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.texts[-1] += data

    def all(self, tag: str) -> list[tuple[dict[str, str], str]]:
        found = zip(self.tags, self.texts, strict=True)
        return [(attributes, text) for (name, attributes), text in found if name == tag]


def written(tmp_path: Path, reports: Any, **more: Any) -> Path:
    return write_report(reports, tmp_path / "report.html", **more)


def test_the_policy_lets_only_our_own_script_and_style_through(tmp_path):
    blocks = Blocks(written(tmp_path, [simulated()]).read_text())
    (policy,) = [
        attributes["content"]
        for attributes, _ in blocks.all("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    ((_, style),) = blocks.all("style")
    (script,) = [
        text for attributes, text in blocks.all("script") if attributes["type"] == "module"
    ]
    for kind, source in (("style-src", style), ("script-src", script)):
        digest = base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()
        assert f"{kind} 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy


def test_nothing_is_loaded_from_anywhere(tmp_path):
    blocks = Blocks(written(tmp_path, [simulated()]).read_text())
    assert not [a for _, a in blocks.tags if {"src", "href", "srcset", "data"} & a.keys()]
    assert {tag for tag, _ in blocks.tags} == {
        *("html", "head", "meta", "title", "style", "body", "noscript", "div", "main", "aside"),
        "script",
    }


def test_what_models_say_cannot_leave_its_block(tmp_path):
    calm = Blocks(written(tmp_path, [simulated()], title="x").read_text()).tags
    told = [said("user", HOSTILE)]
    document = written(
        tmp_path,
        [simulated(HOSTILE, domain=HOSTILE, messages=told)],
        title=HOSTILE,
        summary={"rows": [{"name": HOSTILE, HOSTILE: 1}], "notes": [HOSTILE]},
    )

    text = document.read_text(encoding="utf-8")
    assert [tag for tag, _ in Blocks(text).tags] == [tag for tag, _ in calm]
    assert index_of(document)["tasks"][0]["id"] == HOSTILE
    assert packets_of(document)[0][0]["messages"][0]["text"] == HOSTILE
    assert "<!--" not in re.sub(r'<script type="module">.*?</script>', "", text, flags=re.S)


@settings(max_examples=30)
@given(st.text())
def test_any_title_stands_in_the_head_as_text(tmp_path_factory, title):
    document = written(tmp_path_factory.mktemp("title"), [], title=title)
    assert [tag for tag, _ in Blocks(document.read_text(encoding="utf-8")).tags].count("title") == 1
    assert index_of(document)["title"] == title


def test_every_simulation_is_in_the_file(tmp_path):
    finished = [simulated(str(task), trial) for task in range(5) for trial in range(3)]
    document = written(tmp_path, iter(finished))
    assert len(rows_of(index_of(document))) == 15
    assert [len(packet) for packet in packets_of(document)] == [3] * 5


def test_equal_reports_make_equal_files(tmp_path):
    one, other = (written(tmp_path, [simulated()]).read_bytes() for _ in range(2))
    assert one == other


def test_values_that_json_has_no_word_for_are_written_as_text(tmp_path):
    document = written(
        tmp_path, [report(eval=[{"passed": True, "score": float("nan"), "who": object}])]
    )
    ((detail,),) = packets_of(document)
    assert ["score", "NaN"] in detail["verdicts"][0]["returned"]


def test_a_folder_is_not_a_file_to_write(tmp_path):
    with pytest.raises(ConfigurationError, match=r"name the file: .*report\.html"):
        write_report([], tmp_path)
    write_report([], tmp_path / "report.html")
