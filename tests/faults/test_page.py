"""docs/errors.md lists what the tests of faults play and assert."""

from tests.faults import table


def test_the_table_of_faults_is_that_of_the_tests():
    before, listed, after = table.parts_of_page()

    assert before and after, f"{table.PAGE.name} has no place for the table"
    assert listed == table.rendered(), "run: python -m tests.faults.table"
