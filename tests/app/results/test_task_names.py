"""What a task is called."""

import pytest

from maseval.app.results.names import list_names, tasks_called, why_not_one
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import TaskKey

AIRLINE = [TaskKey("airline", str(number)) for number in range(3)]
RETAIL = [TaskKey("retail", str(number)) for number in range(2)]
TELECOM = [
    TaskKey("telecom", "[mobile_data_issue]data_saver_mode_on|data_usage_exceeded[PERSONA:Easy]"),
    TaskKey("telecom", "[mms_issue]airplane_mode_on|bad_vpn[PERSONA:None]"),
    TaskKey("telecom", "[mms_issue]airplane_mode_on[PERSONA:Hard]"),
]
EVERY = [*AIRLINE, *RETAIL, *TELECOM]


@pytest.mark.parametrize(
    ("name", "tasks", "found"),
    [
        ("1", AIRLINE, AIRLINE[1:2]),
        ("1", EVERY, [AIRLINE[1], RETAIL[1]]),
        ("retail/1", EVERY, [RETAIL[1]]),
        ("telecom/2", EVERY, [TELECOM[2]]),
        ("2", TELECOM, [TELECOM[2]]),
        ("9", TELECOM, []),
        ("[mobile", EVERY, [TELECOM[0]]),
        ("BAD_VPN", EVERY, [TELECOM[1]]),
        ("telecom/bad_vpn", EVERY, [TELECOM[1]]),
        ("[mms_issue]airplane_mode_on", EVERY, TELECOM[1:]),
        (TELECOM[2].task_id, EVERY, [TELECOM[2]]),
        ("", EVERY, []),
        ("telecom/", EVERY, []),
    ],
)
def test_a_task_is_called_by_id_number_beginning_or_part(name, tasks, found):
    assert tasks_called(name, tasks) == found


@pytest.mark.parametrize(
    ("name", "names"),
    [
        ("0-2", ["0", "1", "2"]),
        ("1,3-4,9", ["1", "3", "4", "9"]),
        ("retail/0-1", ["retail/0", "retail/1"]),
        ("7-8-9", ["7-8-9"]),
        ("mms,sms", ["mms,sms"]),
    ],
)
def test_numbers_are_listed_and_spanned(name, names):
    assert list_names([name], EVERY) == names


def test_an_id_that_looks_like_numbers_is_an_id():
    assert list_names(["1-2"], [TaskKey("d", "1-2")]) == ["1-2"]


def test_a_span_from_large_to_small_is_refused():
    with pytest.raises(ConfigurationError, match="'5-1': write the smaller number first"):
        list_names(["5-1"], EVERY)


def test_a_number_is_that_of_the_task_and_not_a_part_of_an_id():
    tasks = [TaskKey("d", "issue_7"), TaskKey("d", "issue_1")]

    assert tasks_called("1", tasks) == [tasks[1]]
    assert tasks_called("7", tasks) == []


def test_an_id_of_several_domains_is_to_be_written_with_its_domain():
    words = why_not_one("1", tasks_called("1", EVERY), EVERY)

    assert words == "'1' is a task of several domains; write airline/1 or retail/1"


def test_a_part_of_several_ids_is_told_with_some_of_them():
    words = why_not_one("mms", tasks_called("mms", EVERY), EVERY)

    assert "may be any of 2 tasks" in words and str(TELECOM[1]) in words


def test_for_a_name_that_means_no_task_some_are_named():
    assert why_not_one("zzz", [], EVERY).endswith("airline/2, retail/0 and 4 more")
