"""An engine as a context manager: commands enter the one that they are given, too."""

from tests.core.worlds import Shop, numbered
from tests.interface.libraries import needing

pytestmark = needing("ray")


def test_an_engine_that_is_entered_twice_stays_connected_until_the_first_context_ends():
    import ray

    from maseval.interface.ray.engine import RayEngine

    with RayEngine(processes=1) as engine:
        with engine:
            assert len(Shop().run(numbered(2), engine=engine)) == 2
        assert ray.is_initialized()
        with engine:
            assert len(Shop().run(numbered(1), engine=engine)) == 1
    assert not ray.is_initialized()
