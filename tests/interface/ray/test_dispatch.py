"""Who is to blame when a process dies; nothing of Ray is needed for that."""

from types import SimpleNamespace

import pytest

from maseval.core.engine.dispatch import Assignment, Backlog, Process, send
from maseval.core.engine.parcel import unpack


def assignment(number, deaths=0, timeout=None):
    return Assignment(number, SimpleNamespace(timeout=timeout), deaths)


def waiting(room, *assignments):
    backlog = Backlog(room)
    for each in assignments:
        backlog.add(each)
    return backlog


def taken(backlog, *, quarantine):
    """What a process is given until there is no more room."""
    inside = {}
    while found := backlog.next_for(inside, quarantine=quarantine):
        inside[found.number] = found
    return list(inside)


def test_an_ordinary_process_is_filled_in_order_with_those_without_blame():
    backlog = waiting(3, *(assignment(n) for n in range(5)), assignment(9, deaths=1))

    assert taken(backlog, quarantine=False) == [0, 1, 2]
    assert taken(backlog, quarantine=False) == [3, 4]
    assert backlog.suspects == 1


@pytest.mark.parametrize("deaths", [1, 2, 7])
def test_what_was_in_a_process_that_died_runs_alone(deaths):
    backlog = waiting(100, *(assignment(n, deaths) for n in range(3)))

    assert taken(backlog, quarantine=False) == []
    assert [taken(backlog, quarantine=True) for _ in range(4)] == [[0], [1], [2], []]


def test_one_is_given_up_after_the_stated_number_of_deaths():
    suspect = assignment(1)

    hopeless = []
    for _ in range(3):
        suspect.count_death(machine_down=False)
        hopeless.append(suspect.is_hopeless(most_deaths=3))

    assert hopeless == [False, False, True]


def test_a_machine_that_goes_down_says_little_of_what_ran_on_it():
    moved = assignment(1)

    hopeless = []
    for _ in range(10):
        moved.count_death(machine_down=True)
        hopeless.append(moved.is_hopeless(most_deaths=3))

    assert moved.deaths == 0
    assert hopeless == [False] * 9 + [True]


def test_what_was_begun_again_is_not_late_yet():
    late = assignment(1, timeout=0.0)

    assert not late.is_late
    late.since = 0.0
    assert late.is_late
    late.count_death(machine_down=True)
    assert not late.is_late


class CallList(list):
    """A carrier that takes note of calls, and answers none."""

    def start(self):
        return "process"

    def call(self, process, method, *args):
        self.append((method, args))
        return len(self)


def repetition(number):
    task = SimpleNamespace(id=str(number))
    return SimpleNamespace(
        task=task, repeat_idx=0, agent_data={}, timeout=None, attempts=[], recorded=None
    )


def test_all_orders_for_a_process_go_in_one_call_so_that_each_begins_before_any_continues():
    calls = CallList()
    process = Process(calls, quarantine=False)
    process.is_ready = True
    assignments = [Assignment(number, repetition(number)) for number in range(1_000)]

    send({process: assignments})

    [(method, (orders, _))] = calls
    assert method == "collect"
    sent = [(number, int(unpack(data)["task"].id)) for number, data in orders]
    assert sent == [(number, number) for number in range(1_000)]
    assert all(each.since is not None for each in assignments)
