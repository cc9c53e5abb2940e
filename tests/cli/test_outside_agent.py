"""Options of agents in other programs, which are read before any library is needed."""

import pytest

from maseval.interface.extras import is_installed
from tests.cli.commandline import maseval

RUN = ("tau2", "run", "--domain", "library", "-n", 1, "--user", "scripted")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--agent", "acp:x", "--agent-args", "speed=3"), "'speed'"),
        (("--agent", "acp:x", "--agent-args", "turn_timeout=-1"), "turn_timeout is -1"),
        (("--agent", "acp:x", "--agent-args", "shared=maybe"), "shared is true or false"),
        (("--agent", "a2a:http://x", "--agent-args", "tools=smoke"), "tools mcp or text"),
        (("--agent", "acp:x", "--agent-env", "NO_SUCH_VARIABLE"), "'NO_SUCH_VARIABLE'"),
        (("--agent", "acp:x", "--agent-env", "1=2"), "give NAME or NAME=VALUE"),
        (("--agent", "a2a:http://x", "--agent-env", "PATH"), "acp:COMMAND"),
        (("--agent", "a2a:http://x", "--rehearse", "gold"), "rehearse acp:COMMAND"),
        (
            ("--agent", "acp:x", "--rehearse", "gold", "--agent-args", "shared=true"),
            "without shared=true",
        ),
        (("--agent", "gold", "--agent-env", "PATH"), "agent_env"),
    ],
)
def test_options_that_cannot_work_are_refused(options, words, tau2_data):
    done = maseval(*RUN, *options)

    assert done.exit_code == 2
    assert words in " ".join(done.stderr.replace("│", " ").split())


@pytest.mark.skipif(is_installed("acp"), reason="the library is installed")
def test_a_missing_library_is_named_with_the_way_to_install_it(tau2_data):
    done = maseval(*RUN, "--agent", "acp:python agent.py")

    assert done.exit_code == 1
    assert "'.[acp]'" in done.stderr
