"""Make the expected outputs anew: ``python -m tests.golden``; then read the difference."""

import os
import tempfile
from pathlib import Path

import pytest

from tests.golden.outputs import EXPECTED, make_banking, make_runs, outputs
from tests.golden.setting import SETTING, banking_setting

ROOT = Path(__file__).parents[2]


def renew() -> None:
    """Write every expected output."""
    EXPECTED.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        root = Path(name).resolve()
        for key, value in SETTING.items():
            patch.setenv(key, value)
        patch.setenv("XDG_STATE_HOME", str(root / "state"))
        patch.chdir(root)
        make_runs(root)
        for file, text in outputs(root, ["gold", "noisy", "outage", "forged", "file"]):
            (EXPECTED / file).write_text(text, encoding="utf-8")
        shared = Path(os.environ.get("MASEVAL_SHARED_DATA", ROOT.parent / "shared" / "data"))
        if not shared.is_dir():
            print("The bank is left as it was: its data is not here.")
            return
        for key, value in banking_setting(shared).items():
            patch.setenv(key, value)
        make_banking(root)
        for file, text in outputs(root, ["banking"]):
            (EXPECTED / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    renew()
