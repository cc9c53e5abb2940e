from maseval.core.clock import Clock


def test_code_inside_one_finds_its_deadline_and_whose_it_is():
    stopping = [False]
    with Clock(10, simulation=("task", 3), stopping=lambda: stopping[0]).active() as clock:
        assert Clock.here() is clock
        assert 0 < clock.remaining <= 10
        assert clock.simulation == ("task", 3)
        assert not clock.stopping()
        stopping[0] = True
        assert clock.stopping()
    assert Clock.here() is None
