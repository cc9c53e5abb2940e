"""Adapters to language models, one file for each library.

Every name can be listed and imported without any of the libraries; they are needed at use.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "AnthropicModelAdapter": "anthropic",
    "GoogleGenAIModelAdapter": "google_genai",
    "OpenAIModelAdapter": "openai",
    "HuggingFacePipelineModelAdapter": "huggingface",
    "ToolCallingNotSupportedError": "huggingface",
    "LiteLLMModelAdapter": "litellm",
    "LlamaCppModelAdapter": "llamacpp",
}

__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *_HOMES]
