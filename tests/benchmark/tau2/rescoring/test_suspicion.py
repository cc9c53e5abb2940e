"""Signs that a simulation was edited, copied, or cannot have happened."""

import pytest

from maseval.benchmark.tau2.rescoring.record import PlannedTrial
from maseval.benchmark.tau2.rescoring.suspicion import (
    SimulationIdentity,
    copies,
    identity_of,
    likeness,
    missing_trials,
    name_of,
    near_copies,
    oddities,
)


def message(second, role="user", content="Bye. ###STOP###", **more):
    return {"role": role, "content": content, "timestamp": f"2025-01-01T10:00:{second}", **more}


def simulation(*messages, **changes):
    return {
        "messages": list(messages),
        "termination_reason": "user_stop",
        "start_time": "2025-01-01T10:00:00",
        "end_time": "2025-01-01T10:00:30",
        **changes,
    }


@pytest.mark.parametrize(("trial", "shown"), [(0, "trial 0"), (None, "trial ?")])
def test_a_simulation_is_named_by_domain_task_and_trial(trial, shown):
    assert name_of("retail", {"task_id": "7", "trial": trial}) == f"retail task 7, {shown}"


def fingerprint(played):
    return identity_of("d", played).fingerprint


def kinds(found):
    return [each.kind for each in found]


@pytest.mark.parametrize(
    ("last", "odd"), [("29", False), ("30", False), ("31", False), ("31.001", True), ("45", True)]
)
def test_a_last_message_may_be_written_down_a_second_after_the_end(last, odd):
    found = list(oddities(simulation(message(last)), "here"))

    assert [(each.kind, each.where) for each in found] == [("times out of order", "here")] * odd


@pytest.mark.parametrize(("last", "odd"), [("30Z", True), ("29Z", False)])
def test_times_that_cannot_be_compared_as_times_are_compared_as_texts(last, odd):
    assert bool(list(oddities(simulation(message(last)), "here"))) is odd


def test_messages_stand_in_the_order_of_their_times():
    same = simulation(message("05", "assistant"), message("05"))
    assert list(oddities(same, "here")) == []

    (found,) = oddities(simulation(message("06", "assistant"), message("05")), "here")
    assert found.kind == "times out of order" and "message 1" in found.text


def test_a_simulation_does_not_end_before_it_starts():
    backwards = simulation(message("05"), end_time="2025-01-01T09:59:59")
    assert kinds(oddities(backwards, "here")) == ["times out of order"]

    at_once = simulation(message("00"), end_time="2025-01-01T10:00:00")
    assert list(oddities(at_once, "here")) == []


def test_turns_count_from_zero_or_are_not_there_at_all():
    numbered = [message("01", "assistant", turn_idx=0), message("02", turn_idx=1)]
    assert list(oddities(simulation(*numbered), "here")) == []

    numbered[1]["turn_idx"] = 2
    (found,) = oddities(simulation(*numbered), "here")
    assert found.kind == "turns not in sequence" and found.text == "message 1 has turn_idx 2"


@pytest.mark.parametrize(
    ("messages", "reason", "odd"),
    [
        ([message("01")], "user_stop", False),
        ([message("01", content="Bye.")], "user_stop", True),
        ([message("01", "assistant")], "user_stop", True),
        ([], "user_stop", True),
        ([message("01", content="Bye.")], "agent_stop", False),
    ],
)
def test_a_user_that_ended_it_has_said_so_last(messages, reason, odd):
    found = kinds(oddities(simulation(*messages, termination_reason=reason), "here"))

    assert found == (["impossible ending"] if odd else [])


def test_a_fingerprint_depends_on_what_was_said_and_done_and_on_nothing_else():
    call = {"id": "a", "name": "look", "arguments": {}}
    told = fingerprint(simulation(message("01", tool_calls=[call], cost=1.0)))

    again = message("44", tool_calls=[{**call, "id": "b"}], cost=2.0, turn_idx=7)
    assert fingerprint(simulation(again)) == told
    other = message("01", tool_calls=[{**call, "name": "peek"}])
    assert fingerprint(simulation(other)) != told


def test_a_fingerprint_depends_on_who_said_which_text_and_made_which_call():
    call = {"id": "a", "name": "look", "arguments": {}}

    def told(*texts, calls=((), ())):
        pairs = zip(texts, calls, strict=True)
        messages = [message("01", content=text, tool_calls=[*made]) for text, made in pairs]
        return fingerprint(simulation(*messages))

    assert told("ab", "c") != told("a", "bc")
    assert told(None, "") != told("", "") != told("", None)
    assert told("a", "b", calls=([call], ())) != told("a", "b", calls=((), [call]))
    assert told("a", "b", calls=([call], [call])) != told("a", "b", calls=([call, call], ()))


def test_phrases_are_compared_among_simulations_with_the_same_calls_alone():
    words = " ".join(map(str, range(200)))
    look = [{"id": "a", "name": "look", "arguments": {}}]
    first, copied, other = (
        identity_of("d", {"messages": [message("01", content=text, tool_calls=calls)]})
        for text, calls in ((words, look), (f"Well, {words}", look), (words, []))
    )

    assert list(near_copies([first, copied, other])) == [(first, copied)]
    phrases, others, copied_ones = (set(each.phrases) for each in (first, other, copied))
    assert likeness(phrases, others) == 1.0 and 0.85 < likeness(phrases, copied_ones) < 1.0
    assert list(near_copies([first, other])) == []


def test_near_copies_are_found_in_the_order_of_the_record():
    def trial(number, changed=0, task="1", start=0):
        words = [f"word{start + each}" for each in range(300)]
        for each in range(changed):  # three phrases each
            words[each * 50] = f"{number}-{each}"
        said = message("10", content=" ".join(words))
        return identity_of("retail", {"task_id": task, "trial": number, "messages": [said]})

    every = [
        trial(0),
        trial(0, task="2"),
        trial(1, start=1000),
        trial(2, task="2", changed=1),
        trial(3, changed=1),
        trial(4),  # the same, not nearly: its original is the nearly equal one
        trial(5, changed=6, start=300),
    ]

    found = [(one.where, other.where) for one, other in near_copies(every)]

    assert found == [
        ("retail task 2, trial 0", "retail task 2, trial 2"),
        ("retail task 1, trial 0", "retail task 1, trial 3"),
        ("retail task 1, trial 3", "retail task 1, trial 4"),
    ]


def test_half_a_character_is_a_text_like_any_other():
    broken = {"messages": [message("01", content="one \ud83d three four")]}
    sound = {"messages": [message("01", content="one two three four")]}

    found = identity_of("d", broken)
    assert len(found.phrases) == 2
    assert found.fingerprint != fingerprint(sound)


def passport(where, trial=0, task_id="t", id="", print_="p", talks=True, domain="d"):
    return SimulationIdentity(where, domain, task_id, trial, id, print_, talks)


def test_one_id_for_two_simulations_is_a_copy():
    found = list(copies([passport("a", id="x", print_="1"), passport("b", id="x", print_="2")]))

    assert [(each.kind, each.where) for each in found] == [("duplicated id", "a")]
    assert list(copies([passport("a", print_="1"), passport("b", print_="2")])) == []


def test_equal_messages_in_one_task_are_a_copy_unless_nobody_talks():
    assert kinds(copies([passport("a"), passport("b")])) == ["identical messages"]
    assert kinds(copies([passport("a", talks=False), passport("b", talks=False)])) == []
    assert kinds(copies([passport("a"), passport("b", task_id="u")])) == []
    assert kinds(copies([passport("a"), passport("b", domain="e")])) == []


@pytest.mark.parametrize(
    ("trials", "declared", "expected"),
    [
        ([0, 1], 2, []),
        ([0, 1], None, []),
        ([0], 2, ["trial 1 of 2 is missing"]),
        ([1], None, ["trial 0 of 2 is missing"]),
        ([0, 2], 2, ["trial 1 of 3 is missing"]),
        ([0, 0], None, ["trial 0 appears more than once"]),
        ([None, None], None, []),
    ],
)
def test_every_task_has_each_trial_once(trials, declared, expected):
    found = missing_trials([passport("x", trial=each) for each in trials], declared)

    assert [each.text for each in found] == expected


def test_a_task_that_stopped_at_its_first_failure_lacks_no_trial():
    ran = {"failed": 1, "passed": 3}
    planned = [PlannedTrial("d", task, trial) for task in ran for trial in range(ran[task])]
    there = [passport("x", slot.trial, slot.task_id) for slot in planned]

    assert kinds(missing_trials(there, None, planned)) == []
    assert kinds(missing_trials(there[:-1], None, planned)) == ["missing trials"]
