"""Every broken agent is noticed in a rehearsal, by the item that is broken."""

import pytest

from maseval import commands
from tests.agents.broken import BROKEN, MISSED

pytestmark = pytest.mark.needs(library="openai")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_agent_misses_what_it_breaks(name, tmp_path):
    result = commands.tau2.run(
        domain="library", num_tasks=3, agent=BROKEN[name], rehearse="gold", output=tmp_path / "run"
    )

    missed = [each.name for each in result.checklist.missed()]
    assert MISSED[name] in missed, list(result.checklist.lines())
    assert result.checklist.refused is None
