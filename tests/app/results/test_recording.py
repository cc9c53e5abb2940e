import pytest

from maseval import commands
from maseval.commands import tau2
from maseval.core.exceptions import ConfigurationError


def test_one_run_may_be_named_without_a_list(tmp_path):
    run = str(tau2.run(domain="library", agent="gold", num_tasks=2, output=tmp_path / "r").folder)

    assert [len(f(run)) for f in (commands.score, commands.comply)] == [1, 1]
    (tagged,) = commands.tag(run, ["mine"]).values()
    assert tagged.tags == ("mine",)
    with pytest.raises(ConfigurationError, match="1 run cannot be compared"):
        commands.compare(run)
