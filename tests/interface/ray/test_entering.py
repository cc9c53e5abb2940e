"""An engine as a context manager: commands enter the one that they are given, too."""

from tests.interface.libraries import needing

pytestmark = needing("ray")


def test_an_engine_that_is_entered_twice_stays_connected_until_the_first_context_ends():
    import ray

    from maseval.interface.ray.engine import RayEngine

    with RayEngine(processes=1) as engine:
        with engine:
            assert [each.result for each in engine.mapped(lengths, [["a", "bb"]])] == [[1, 2]]
        assert ray.is_initialized()
        with engine:
            assert [each.result for each in engine.mapped(lengths, [["ccc"]])] == [[3]]
    assert not ray.is_initialized()


def lengths(words):
    return [len(word) for word in words]
