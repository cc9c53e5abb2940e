"""Files of a shop."""

import hashlib

import pytest

from maseval.data.files import DataFile

DB = b'{"orders": {}}'
POLICY = b"Be kind."


def data_file(name: str, data: bytes) -> DataFile:
    return DataFile(name, len(data), hashlib.sha256(data).hexdigest())


FILES = [data_file("domains/shop/db.json", DB), data_file("domains/shop/policy.md", POLICY)]
EVERYTHING = {"domains/shop/db.json": DB, "domains/shop/policy.md": POLICY}


@pytest.fixture(autouse=True)
def online(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MASEVAL_OFFLINE", raising=False)
