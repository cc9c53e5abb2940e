import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from maseval.core.exceptions import MASEvalError
from maseval.core.model import resolve_model
from maseval.interface import extras
from maseval.interface.usage import LiteLLMCostCalculator

LIBRARIES = ("openai", "anthropic", "google.genai", "litellm", "transformers")


@pytest.mark.parametrize("module", ["nowhere_to_be_found", "nowhere_to_be_found.inside"])
def test_a_missing_library_names_the_command_that_installs_it(module):
    with pytest.raises(extras.MissingExtraError) as caught:
        extras.load(module, extra="nowhere", package="nowhere-to-be-found")

    assert str(caught.value) == (
        "nowhere-to-be-found is not installed. "
        "Install it in maseval's checkout with: pip install '.[nowhere]'"
    )
    assert isinstance(caught.value, ImportError) and isinstance(caught.value, MASEvalError)


def test_no_library_is_imported_before_it_is_used():
    program = f"""
import sys
import tomllib
from pathlib import Path
import maseval, maseval.interface
from maseval.interface import inference
from maseval.interface.inference import *
from maseval.interface.usage import LiteLLMCostCalculator
assert OpenAIModelAdapter.__module__ == "maseval.interface.inference.openai"
assert set(inference.__all__) <= set(dir(inference))
print([name for name in {LIBRARIES!r} if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert (done.stderr, done.stdout) == ("", "[]\n")


@pytest.mark.parametrize(
    ("model_id", "extra"),
    [
        ("openai/m", "openai"),
        ("m", "openai"),
        ("anthropic/m", "anthropic"),
        ("google/m", "google-genai"),
        ("litellm/m", "litellm"),
        ("hf/m", "transformers"),
    ],
)
def test_every_provider_is_known_and_says_how_to_install_it(model_id, extra, monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(extras.MissingExtraError) as caught:
        resolve_model(model_id)

    assert str(caught.value).endswith(
        f"Install it in maseval's checkout with: pip install '.[{extra}]'"
    )


def test_without_litellm_the_calculator_says_how_to_get_it(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(ImportError, match=r"requires litellm.*\.\[litellm\]"):
        LiteLLMCostCalculator()


CHECKOUT = Path(__file__).parents[2]


def texts_people_read():
    yield CHECKOUT / "README.md"
    for folder in ("docs", "examples", "maseval"):
        files = (CHECKOUT / folder).rglob("*")
        yield from (file for file in files if file.suffix in READ_BY_PEOPLE)


READ_BY_PEOPLE = {".md", ".py", ".pyi", ".yml", ".toml", ".txt", ".html", ".js"}


def test_the_extra_that_an_error_names_is_one_that_the_checkout_has():
    project = tomllib.loads((CHECKOUT / "pyproject.toml").read_text())["project"]
    named = {
        extra
        for file in texts_people_read()
        for extras_named in re.findall(r"pip install '\.\[([a-z,-]+)\]'", file.read_text())
        for extra in extras_named.split(",")
    }

    assert named and named <= set(project["optional-dependencies"])
