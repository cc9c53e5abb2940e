import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.texts.extraction import extract_texts
from maseval.benchmark.tau2.texts.original import describe_tools
from maseval.benchmark.tau2.texts.texts import Texts, TextsError
from maseval.data.files import ChecksumError, SourceShapeError

pytestmark = pytest.mark.data

AGENT = "src/tau2/agent/llm_agent.py"
JUDGE = "src/tau2/evaluator/evaluator_nl_assertions.py"
AIRLINE = "src/tau2/domains/airline/tools.py"


@pytest.mark.parametrize("version", ["0.2.0", "1.0.1"])
def test_an_invented_tree_gives_exactly_what_was_expected(version, tree, expected):
    wanted = expected(version)
    del wanted["schemas"]
    found = extract_texts(version, tree(version))
    assert json.dumps(json.loads(found.to_bytes())) == json.dumps(wanted)


def skeletons(synthetic: Path, version: str) -> dict[str, Any]:
    return json.loads((synthetic / "skeletons.json").read_text())[version]


def all_schemas(texts: Texts, skeletons: dict[str, Any]) -> dict[str, Any]:
    """The schemas of every toolkit, the invented skeletons standing for our own tools."""
    return {
        domain: {
            side: describe_tools(list(ours.values()), texts.tools[domain][side], texts, domain)
            for side, ours in sides.items()
        }
        for domain, sides in skeletons.items()
    }


@pytest.mark.parametrize("version", ["0.2.0", "1.0.1"])
def test_the_texts_laid_over_our_schemas_give_the_expected_ones(version, tree, expected, synthetic):
    found = all_schemas(extract_texts(version, tree(version)), skeletons(synthetic, version))
    assert json.dumps(found) == json.dumps(expected(version)["schemas"])


@pytest.mark.parametrize("number", range(22))
def test_each_recorded_edit_of_the_tree_is_refused_or_accepted_as_it_should_be(
    number, synthetic, tree, edition
):
    cases = json.loads((synthetic / "cases.json").read_text())
    assert len(cases) == 22
    case = cases[number]
    contents = tree("1.0.1")
    before = contents[case["path"]].decode()
    assert before.count(case["find"]) == 1
    contents[case["path"]] = before.replace(case["find"], case["replace"]).encode()

    def use():
        if case["manifest"] == "as it is":
            for name, file in edition.manifest.files.items():
                file.verify(contents[name])
        return all_schemas(extract_texts("1.0.1", contents), skeletons(synthetic, "1.0.1"))

    if case["expected"] == "accepted":
        assert use()
    else:
        with pytest.raises((TextsError, SourceShapeError, ChecksumError)) as refusal:
            use()
        names = {case["path"], "only_short", "the tools of airline"}
        assert any(name in str(refusal.value) for name in names)
    for written in re.findall(r'open\("([^"]+)", "w"\)', case["replace"]):
        assert not Path(written).exists(), "the edit was executed"


def test_reading_a_tree_imports_nothing_of_it(tree):
    before = set(sys.modules)
    extract_texts("1.0.1", tree("1.0.1"))
    assert not {name for name in set(sys.modules) - before if name.startswith("tau2")}


@pytest.mark.parametrize("version", ["0.2.0", "1.0.1"])
def test_a_file_that_is_missing_is_named_and_there_are_no_partial_texts(version, tree):
    for name in set(tree(version)) - {"LICENSE"}:
        contents = tree(version)
        del contents[name]
        with pytest.raises(SourceShapeError, match=f"{name} is missing"):
            extract_texts(version, contents)


@pytest.mark.parametrize(
    ("name", "find", "replace"),
    [
        *(
            (AGENT, 'STOP_TOKEN = "###DAWN###"', other)
            for other in (
                *("STOP_TOKEN: str", 'STOP_TOKEN = b"x"'),
                *('A = STOP_TOKEN = "x"', 'STOP_TOKEN = "x"\n    STOP_TOKEN += "y"'),
            )
        ),
        (AGENT, "        def done()", "        async def done()"),
        (AGENT, 'return f"Keeper: {action.name}."', "return None"),
        (JUDGE, "{nl_assertions}\n        ", "{nl_assertions=}\n        "),
        (AIRLINE, "def only_short(self)", "def only_short(self, /)"),
        (AIRLINE, '"""Only this — with a dash."""', '""""""'),
    ],
)
def test_a_text_of_another_shape_is_refused_with_its_file(tree, name, find, replace):
    text = tree("1.0.1")[name].decode()
    assert text.count(find) == 1
    contents = {**tree("1.0.1"), name: text.replace(find, replace).encode()}
    with pytest.raises(SourceShapeError, match=f"^{name}: "):
        extract_texts("1.0.1", contents)
