import pytest

from maseval.benchmark.tau2.texts.original import format_texts_config
from maseval.benchmark.tau2.wording import OURS
from maseval.core.messages import MessageForm
from maseval.core.seeding import DefaultSeedGenerator


def test_our_texts_have_a_name_and_a_hash():
    config = OURS.to_config()
    assert config == {"name": "ours", "sha256": OURS.sha256}
    assert len(OURS.sha256) == 64
    assert format_texts_config(config) == f"ours ({OURS.sha256[:12]})"


def test_our_form_has_no_nulls_and_no_second_name():
    call = {"id": "c", "name": "look", "arguments": {"at": "é"}, "requestor": "assistant"}
    spoken = {"role": "assistant", "content": "Hi", "tool_calls": None}
    calling = {"role": "assistant", "content": None, "tool_calls": [call]}
    function = {"name": "look", "arguments": '{"at": "\\u00e9"}'}

    assert OURS.message_form is MessageForm.PLAIN
    assert OURS.chat([spoken, calling]) == [
        {"role": "assistant", "content": "Hi"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": "c", "type": "function", "function": function}],
        },
    ]


@pytest.mark.parametrize("given", [None, {}, {"top_p": 1}])
def test_what_is_asked_for_is_added_to_our_parameters(given):
    assert OURS.params("gpt-4.1", given) == {"temperature": 0.0, **(given or {})}
    assert OURS.params("claude-x", given)["thinking"] == {"type": "disabled"}
    assert OURS.judge_params("claude-x") == {"temperature": 0.0}


def test_each_of_our_models_has_its_own_seed():
    seeds = DefaultSeedGenerator(300).for_task("t").for_repetition(0)
    assert len({OURS.seed(role, seeds) for role in ("agent", "user", "judge")}) == 3
