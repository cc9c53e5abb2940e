"""Every command prints over the same runs what it printed before.

After a deliberate change of words or numbers, ``python -m tests.golden`` writes the expected
outputs anew, and ``git diff tests/golden`` shows what changed.
"""

import difflib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.golden.outputs import EXPECTED, make_banking, make_runs, outputs
from tests.golden.setting import SETTING, banking_setting

SHOWN = 60


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("golden").resolve()
        for key, value in SETTING.items():
            patch.setenv(key, value)
        patch.chdir(folder)
        yield folder


def assert_as_expected(found: Any) -> None:
    different = []
    for file, text in found:
        expected = (EXPECTED / file).read_text(encoding="utf-8")
        lines = difflib.unified_diff(
            expected.splitlines(), text.splitlines(), f"expected/{file}", f"found/{file}", "", "", 1
        )
        if changed := list(lines):
            more = f"\n... and {len(changed) - SHOWN} more lines" if len(changed) > SHOWN else ""
            different.append("\n".join(line.rstrip() for line in changed[:SHOWN]) + more)
    assert not different, "\n\n".join(
        [*different, "If this is meant: python -m tests.golden, and read the difference."]
    )


@pytest.mark.data
def test_every_command_prints_what_it_printed_before(root, tau2_data):
    make_runs(root)

    assert_as_expected(outputs(root, ["gold", "noisy", "outage", "forged", "file"]))


@pytest.mark.data
def test_commands_about_the_bank_print_what_they_printed_before(
    root, shared_data, banking_data, monkeypatch
):
    for key, value in banking_setting(shared_data).items():
        monkeypatch.setenv(key, value)
    make_banking(root)

    assert_as_expected(outputs(root, ["banking"]))
