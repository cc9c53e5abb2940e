"""The texts of the original, and our tools described in its words, against the recorded hashes."""

import json
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.texts.loading import load_texts
from maseval.benchmark.tau2.texts.original import describe_tools
from maseval.benchmark.tau2.texts.texts import Texts
from tests.contract.replay import sha256

pytestmark = pytest.mark.contract

VERSIONS = ("0.2.0", "1.0.1")


def canonical(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


@pytest.fixture(scope="module", params=VERSIONS)
def texts(request: pytest.FixtureRequest, shared_data: Path) -> Texts:
    return load_texts(request.param, shared_data / "tau2-texts")


@pytest.fixture(scope="module")
def schemas(contract_dir: Path, texts: Texts) -> dict[str, Any]:
    recorded: dict[str, Any] = json.loads((contract_dir / "texts" / "schemas.json").read_text())
    return dict(recorded[texts.version])


def named_texts(texts: Texts) -> dict[str, object]:
    """Every text by the name it was recorded under."""
    form = texts.as_json()
    banking = form["prompts"].pop("banking", {})
    found = {**form["prompts"], **{f"banking.{name}": text for name, text in banking.items()}}
    for domain, models in form["models"].items():
        found |= {f"model.{domain}.{name}": model for name, model in models.items()}
    tools = form["tools"].get("banking_knowledge", {})
    for side in ("assistant", "user"):
        for tool in tools.get(f"discoverable_{side}", ()):
            found[f"discoverable.{side}.{tool['name']}"] = tool
    return found


def test_every_text_has_the_recorded_hash(texts, contract_dir):
    recorded = json.loads((contract_dir / "texts" / "prompts.json").read_text())
    wanted = {name: text["sha256"] for name, text in recorded[texts.version]["texts"].items()}
    found = {
        name: sha256(text if isinstance(text, str) else canonical(text))
        for name, text in named_texts(texts).items()
    }
    assert found == wanted


# Retail's tools of v1.0.1 are one more than ours.
KNOWN = [
    *(("0.2.0", domain) for domain in ("airline", "retail", "telecom")),
    *(("1.0.1", domain) for domain in ("airline", "telecom")),
]


@pytest.mark.parametrize(("version", "domain"), KNOWN)
def test_our_tools_in_the_originals_words_are_its_schemas(
    version, domain, shared_data, contract_dir
):
    texts = load_texts(version, shared_data / "tau2-texts")
    recorded = json.loads((contract_dir / "texts" / "schemas.json").read_text())[version][domain]
    chosen = DOMAINS[domain]
    toolkits = {"assistant": chosen.toolkit, "user": chosen.user_toolkit}
    for side, toolkit in toolkits.items():
        if toolkit is None:
            assert recorded[side] == {"toolset": None, "tools": []}
            continue
        tools = texts.tools[domain][side]
        found = describe_tools(toolkit.definitions(), tools, texts, domain)
        assert [
            {"name": schema["function"]["name"], "sha256": sha256(canonical(schema))}
            for schema in found
        ] == [{key: tool[key] for key in ("name", "sha256")} for tool in recorded[side]["tools"]]
        assert sha256(canonical(found)) == recorded[side]["toolset"]["sha256"]


def test_every_recorded_tool_has_its_texts(texts, schemas):
    """Also for the tools that we do not have: the names of each toolkit, in order."""
    for domain, sides in schemas.items():
        for side in ("assistant", "user", "retrieval"):
            if side in sides:
                names = [tool["name"] for tool in texts.tools[domain][side]]
                assert names == [tool["name"] for tool in sides[side]["tools"]]


@pytest.mark.parametrize("recorded", ["verified"], indirect=True)
@pytest.mark.parametrize("domain", ["airline", "retail", "telecom", "mock"])
def test_our_tools_in_the_words_of_the_verified_release_are_its_schemas(
    recorded, domain, shared_data
):
    texts = load_texts("verified", shared_data / "tau2-texts")
    vectors = json.loads((recorded.vectors / "texts" / "schemas.json").read_text())
    hashes, chosen = vectors["toolset_sha256"][domain], recorded.domain(domain)
    for side, toolkit in (("assistant", chosen.toolkit), ("user", chosen.user_toolkit)):
        if toolkit is None:
            assert hashes[side] is None
            continue
        tools = texts.tools[domain][side]
        found = describe_tools(toolkit.definitions(), tools, texts, domain)
        assert sha256(canonical(found)) == hashes[side]
