"""An invented source tree of the original's shape, and what must be found in it."""

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from maseval.benchmark.tau2.texts.loading import Edition
from maseval.data.files import DataFile, Manifest

SIDES = ("assistant", "user", "retrieval", "discoverable_assistant", "discoverable_user")


@pytest.fixture(scope="session")
def synthetic(shared_data: Path) -> Path:
    return shared_data / "tau2-texts" / "synthetic"


@pytest.fixture(scope="session")
def tree(synthetic: Path) -> Callable[[str], dict[str, bytes]]:
    """The contents of a version's files, by name."""
    names = json.loads((synthetic / "manifest.json").read_text())

    def contents(version: str) -> dict[str, bytes]:
        return {name: (synthetic / "tree" / name).read_bytes() for name in names[version]}

    return contents


@pytest.fixture(scope="session")
def expected(synthetic: Path) -> Callable[[str], dict[str, Any]]:
    """What has to be extracted, the sides of banking_knowledge in the order that is hashed."""

    def extraction(version: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads((synthetic / f"expected-{version}.json").read_text())
        for domain, tools in found["tools"].items():
            found["tools"][domain] = {side: tools[side] for side in SIDES if side in tools}
        return found

    return extraction


def texts_hash(extraction: Mapping[str, Any]) -> str:
    named = {key: extraction[key] for key in ("prompts", "tools", "models")}
    compact = json.dumps(named, ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(compact.encode()).hexdigest()


@pytest.fixture(scope="session")
def edition(synthetic: Path, expected: Callable[[str], dict[str, Any]]) -> Edition:
    """The invented v1.0.1, with the checksums that came with it."""
    listed = json.loads((synthetic / "manifest.json").read_text())["1.0.1"]
    files = {name: DataFile(name, file["bytes"], file["sha256"]) for name, file in listed.items()}
    manifest = Manifest("tau2", "v1.0.1", files, fetched_by='load_texts("1.0.1")')
    return Edition("1.0.1", manifest, texts_hash(expected("1.0.1")))
