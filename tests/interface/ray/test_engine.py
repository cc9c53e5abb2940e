"""What is refused before Ray is even looked for, and without it."""

import subprocess
import sys

import pytest

from maseval.app.running.run_options import FolderRunOptions
from maseval.core.exceptions import ConfigurationError
from maseval.interface import extras
from maseval.interface.extras import MissingExtraError
from maseval.interface.ray.engine import RayEngine


@pytest.mark.parametrize("address", ["10.0.0.1:6379", "", "http://here"])
def test_an_address_that_nobody_understands_is_refused(address):
    with pytest.raises(ConfigurationError, match="give 'local' for this machine"):
        RayEngine(address)


def test_without_the_library_the_command_that_installs_it_is_named(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(MissingExtraError, match=r"ray is not installed.*pip install '\.\[ray\]'"):
        RayEngine()


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"engine": "threads", "processes": 2}, "processes is 2, but engine is 'threads'"),
        ({"ray_address": "auto"}, "ray_address is 'auto', but engine is 'threads'"),
    ],
)
def test_options_of_ray_without_ray_are_refused(options, told):
    with pytest.raises(ConfigurationError, match=told):
        FolderRunOptions(**options)


def test_an_unknown_engine_of_a_command_is_refused_with_the_known_ones():
    with pytest.raises(ConfigurationError, match=r"engine is 'rai'; .*known engines: .*threads"):
        _ = FolderRunOptions(engine="rai").chosen_engine


def test_nothing_of_ray_is_imported_by_a_run_in_threads():
    program = """
import sys
from examples.booking import BookingBenchmark, load_tasks
import maseval.interface.ray.engine
BookingBenchmark(progress_bar=False).run(load_tasks()[:1])
print(sorted(name for name in sys.modules if name.partition(".")[0] == "ray"))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stderr, done.stdout) == ("", "[]\n")
