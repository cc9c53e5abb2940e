"""Tests of data folders have a patient source that asks a busy server again at once."""

import pytest

from maseval.data import download


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch):
    monkeypatch.setattr(download, "_PAUSES", (0.0, 0.0))
