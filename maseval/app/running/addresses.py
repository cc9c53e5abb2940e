"""At which address a model is asked, if it is not its provider's own."""

import os

# Which variable each provider's library reads.
_VARIABLES = {
    "openai": "OPENAI_BASE_URL",
    "anthropic": "ANTHROPIC_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
}


def address_of(model_id: str, base_url: object = None) -> str | None:
    """The address that was given, or that the environment names for the model's provider."""
    if base_url:
        return str(base_url)
    provider = model_id.partition("/")[0] if "/" in model_id else "openai"
    return os.environ.get(_VARIABLES.get(provider, "")) or None
