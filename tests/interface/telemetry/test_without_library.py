"""Telemetry where its library is not installed."""

import subprocess
import sys

import pytest

from maseval.interface import extras
from maseval.interface.extras import MissingExtraError
from maseval.interface.telemetry import OpenTelemetryCallback


def test_a_missing_library_is_reported_before_the_run_with_the_way_to_install_it(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(MissingExtraError, match=r"pip install '\.\[otel\]'"):
        OpenTelemetryCallback()


def test_nothing_of_it_is_imported_with_maseval_or_the_room():
    code = (
        "import sys, maseval, maseval.interface.telemetry as room; room.OpenTelemetryCallback; "
        "print([name for name in sys.modules if name.startswith('opentelemetry')])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert shown.stdout.strip() == "[]"
