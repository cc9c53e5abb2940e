"""The reasons why an answer ended: the model came to its end, or its provider failed.

Providers report many of their failures with the status of a good answer. What came of such an
answer is not what the model would have said, so it is no turn of an agent, however much of it
there is.
"""

from collections.abc import Mapping

from maseval.core import provider_errors as errors
from maseval.core.provider_errors import ProviderError
from maseval.core.words import excerpt
from maseval.interface.inference.http import RefusedAnswer

# In lower case: some providers shout.
_KINDS: Mapping[type[ProviderError] | None, str] = {
    # The model's own: what it said is its turn, and if it is nothing, it was silent.
    None: (
        "stop end_turn stop_sequence tool_calls tool_use tool_call function_call complete "
        "completed eos eos_token length max_tokens max_output_tokens max_messages model_length "
        "token_limit model_context_window_exceeded compaction"
    ),
    errors.ContentFilterError: (
        "content_filter content_filtered refusal sensitive guardrail_intervened error_toxic "
        "escalation safety recitation language blocklist prohibited_content spii image_safety "
        "image_prohibited_content image_recitation"
    ),
    # Not the whole answer, or one that the provider could not read; another one may be.
    errors.MalformedResponseError: (
        "pause_turn malformed_function_call malformed_response malformed_model_output "
        "malformed_tool_use unexpected_tool_call too_many_tool_calls missing_thought_signature "
        "finish_reason_unspecified other no_image image_other continuation "
        "not_finished in_progress queued steered load unload"
    ),
    errors.OverloadedError: (
        "error failed abort cancelled network_error error_limit insufficient_system_resource"
    ),
    errors.ProviderTimeoutError: "timeout time_limit",
}

ENDINGS: dict[str, type[ProviderError] | None] = {
    ending: kind for kind, endings in _KINDS.items() for ending in endings.split()
}
"""Each ``finish_reason`` or ``stop_reason`` that a provider documents, and the failure that it is;
None if the model itself came to that end."""


def check_ending(reason: object, *, words: object = None, is_silent: bool = False) -> None:
    """Raise the failure that a reason stands for; ``words`` are the provider's own.

    A reason that nobody documents is believed if there is an answer.
    """
    # Gemini's compatible API writes `content_filter: SAFETY`.
    name = str(reason or "stop").rpartition(": ")[2].lower()
    unknown = errors.MalformedResponseError if is_silent else None
    if kind := ENDINGS.get(name, unknown):
        said = f": {words}" if words else ""
        raise RefusedAnswer(kind, f"the answer ended with {excerpt(reason, 80)!r}{said}")
