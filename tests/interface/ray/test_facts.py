"""What must be the same on every machine."""

import pytest

import maseval
from maseval.interface.ray.facts import Facts, NodeMismatchError, check_code, check_data

OURS = Facts("0.6.0", "c0ffee", "3.11")


def test_the_facts_of_this_process():
    here = Facts.here()

    assert here.maseval == maseval.__version__
    assert here.python.count(".") == 1 and len(here.code) == 12


@pytest.mark.parametrize(
    ("theirs", "told"),
    [
        (OURS._replace(python="3.12"), "Python is 3.12 there and 3.11 here"),
        (OURS._replace(maseval="0.5.0"), "maseval is 0.5.0 there and 0.6.0 here"),
        (OURS._replace(code="bad"), "the code of maseval 0.6.0 is bad there and c0ffee here"),
    ],
)
def test_another_version_is_refused_and_both_are_named(theirs, told):
    with pytest.raises(NodeMismatchError) as caught:
        check_code("10.0.0.2 (abc)", theirs, OURS)

    assert str(caught.value).startswith(f"node 10.0.0.2 (abc) is refused: {told}; ")


@pytest.mark.parametrize(
    ("theirs", "told"),
    [({"db": "2"}, "'db' is 2 there and 1 here"), ({}, r"'db' is \(none\) there and 1 here")],
)
def test_other_data_is_refused_and_both_are_named(theirs, told):
    with pytest.raises(NodeMismatchError, match=told):
        check_data("node", theirs, {"db": "1"})


def test_equal_machines_pass():
    check_code("node", OURS, OURS)
    check_data("node", {"db": "1"}, {"db": "1"})
