"""Marks of a simulation that no other should have, and signs that it cannot have happened."""

import pytest

from maseval.benchmark.tau2.rescoring.verdict import identity_of, oddities


def message(second, role="user", content="Bye. ###STOP###", **more):
    return {"role": role, "content": content, "timestamp": f"2025-01-01T10:00:{second}", **more}


def simulation(*messages, **changes):
    return {
        "messages": list(messages),
        "start_time": "2025-01-01T10:00:00",
        "end_time": "2025-01-01T10:00:30",
        **changes,
    }


@pytest.mark.parametrize(
    ("odd", "words"),
    [
        (simulation(message("31")), None),  # it may be written down a second after the end
        (simulation(message("31.001")), "after its end"),
        (simulation(message("29Z")), None),  # cannot be compared as times: compared as texts
        (simulation(message("30Z")), "after its end"),
        (simulation(message("05", "assistant"), message("05")), None),
        (simulation(message("06", "assistant"), message("05")), "message 1 at"),
        (simulation(message("00"), end_time="2025-01-01T10:00:00"), None),
        (simulation(message("05"), end_time="2025-01-01T09:59:59"), "it ends at"),
        (simulation(message("01", turn_idx=0), message("02", turn_idx=1)), None),
        (simulation(message("01", turn_idx=0), message("02", turn_idx=2)), "has turn_idx 2"),
    ],
)
def test_times_and_turns_run_forwards(odd, words):
    found = list(oddities(odd))

    assert [text for _, text in found if words in text] if words else not found


def test_ids_and_times_of_messages_and_responses_are_marks_and_texts_are_none():
    first = message("01", raw_data={"id": "chatcmpl-1"})
    marks = identity_of("d", simulation(first, id="one")).marks
    other_words = {**first, "content": "one \ud83d two"}
    at_another_time = {**first, "timestamp": "2025-01-02T10:00:01", "raw_data": {"id": "-2"}}

    assert marks.keys() == {"id", "times", "response ids"}
    assert identity_of("d", simulation(other_words, id="one")).marks == marks
    later = identity_of("d", simulation(at_another_time, id="two")).marks
    assert all(later[name] != marks[name] for name in marks)
    assert identity_of("d", simulation({"role": "user", "content": "Hi"})).marks == {}
