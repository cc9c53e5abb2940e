"""The first place where two requests part, in words that help."""

import pytest

from maseval.server.matching import canonical
from maseval.server.nearest import first_difference
from tests.server.provider import asking

LONG = "You are an agent of the shop. " * 40


def tools(description):
    return [{"type": "function", "function": {"name": "look", "description": description}}]


def with_call(arguments):
    function = {"name": "look", "arguments": arguments}
    call = {"id": "x", "type": "function", "function": function}
    return {"model": "m", "messages": [{"role": "assistant", "tool_calls": [call]}]}


@pytest.mark.parametrize(
    ("recorded", "asked", "words"),
    [
        (asking("a"), asking("b"), "messages[0].content: recorded 'a', asked 'b'"),
        (asking("a"), asking("a") | {"model": "n"}, "model: recorded 'm', asked 'n'"),
        (asking("a"), asking("b", temperature=1), "temperature: recorded nothing, asked 1"),
        (asking("a", seed=1), asking("a"), "seed: recorded 1, asked nothing"),
        (
            asking("a", tools=tools("x")),
            asking("b", tools=tools("y")),
            "tools[0].function.description: recorded 'x', asked 'y'",
        ),
        (
            with_call('{"a": 1}'),
            with_call('{"a": 2}'),
            "messages[0].tool_calls[0].function.arguments: recorded '{\"a\": 1}', "
            "asked '{\"a\": 2}'",
        ),
        (
            asking("a"),
            {"model": "m", "messages": [*asking("a")["messages"], {"role": "user"}]},
            'messages[1]: recorded nothing, asked {"role": "user"}',
        ),
        (
            asking(f"{LONG}Be brief."),
            asking(f"{LONG}Be kind, whatever it takes, and however long it takes to be kind."),
            "messages[0].content, character 1204: recorded '…ent of the shop. Be brief.', "
            "asked '…ent of the shop. Be kind, whatever it takes, and however lon…'",
        ),
        (
            asking(LONG),
            asking(f"{LONG}!"),
            "messages[0].content, character 1201: recorded '… agent of the shop. ', "
            "asked '… agent of the shop. !'",
        ),
    ],
)
def test_it_is_named_and_shown(recorded, asked, words):
    assert str(first_difference(canonical(recorded), canonical(asked))) == words


def test_equal_requests_have_none():
    assert first_difference(canonical(asking("a")), canonical(asking("a", user="me"))) is None


def test_large_values_are_shortened():
    found = first_difference(asking("a"), asking("a", tools=tools(LONG) * 3))

    assert len(str(found)) < 150
