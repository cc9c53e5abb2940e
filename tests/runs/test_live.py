"""What a run is doing."""

import os

import pytest

from maseval.runs import RunFolder
from maseval.runs.lock import LIVE, publish, read_live
from tests.runs.worlds import config


@pytest.mark.parametrize("foreign", ['{"written by": "another program"}', "{}", "[1]", "{"])
def test_a_file_of_another_form_does_not_say_what_a_run_is_doing(tmp_path, foreign):
    known = {"cost": 1.5, "tokens": 20, "in_flight": []}
    with RunFolder.open(tmp_path / "run", config("a")) as folder:
        publish(folder.path, {"pid": os.getpid(), "at": "now", **known})
        assert read_live(folder.path)["tokens"] == 20

        (folder.path / LIVE).write_text(foreign)

        assert read_live(folder.path) is None
