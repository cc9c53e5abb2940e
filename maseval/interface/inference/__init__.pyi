from maseval.interface.inference.anthropic import AnthropicModelAdapter as AnthropicModelAdapter
from maseval.interface.inference.google_genai import (
    GoogleGenAIModelAdapter as GoogleGenAIModelAdapter,
)
from maseval.interface.inference.huggingface import (
    HuggingFacePipelineModelAdapter as HuggingFacePipelineModelAdapter,
)
from maseval.interface.inference.huggingface import (
    ToolCallingNotSupportedError as ToolCallingNotSupportedError,
)
from maseval.interface.inference.huggingface_scorer import (
    HuggingFaceModelScorer as HuggingFaceModelScorer,
)
from maseval.interface.inference.litellm import LiteLLMModelAdapter as LiteLLMModelAdapter
from maseval.interface.inference.openai import OpenAIModelAdapter as OpenAIModelAdapter
from maseval.interface.inference.openai_responses import (
    OpenAIResponsesModelAdapter as OpenAIResponsesModelAdapter,
)
