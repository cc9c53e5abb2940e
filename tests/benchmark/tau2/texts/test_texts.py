import pytest

from maseval.benchmark.tau2.texts.texts import Placeholder, TextsError, fill_parts

PARTS = ("log: ", Placeholder(value="log"), "; {braces} stay; ", Placeholder(value="self.wishes"))


def test_values_are_put_into_their_places_and_never_looked_into():
    text = fill_parts(PARTS, {"log": "{self.wishes}", "self.wishes": "%s"})
    assert text == "log: {self.wishes}; {braces} stay; %s"


@pytest.mark.parametrize("values", [{}, {"log": ""}, {"log": "", "self.wishes": "", "more": ""}])
def test_values_that_are_lacking_or_unknown_are_named(values):
    with pytest.raises(TextsError, match=r"needs values for \['log', 'self.wishes'\], not \["):
        fill_parts(PARTS, values)
