"""Options that are more than a word."""

import pytest
import typer

from maseval.cli.running import arguments
from tests.cli.commandline import maseval


@pytest.mark.parametrize(
    ("texts", "value"),
    [
        (None, {}),
        (["temperature=0.5"], {"temperature": 0.5}),
        (["temperature=0", "seed=3"], {"temperature": 0, "seed": 3}),
        (["stop=a,b"], {"stop": "a,b"}),
        (["a=1", '{"b": [1, 2]}'], {"a": 1, "b": [1, 2]}),
        (
            ["model=gpt-4", "flag=true", "url=http://x/?a"],
            {"model": "gpt-4", "flag": True, "url": "http://x/?a"},
        ),
    ],
)
def test_json_and_pairs_are_understood(texts, value):
    assert arguments(texts) == value


@pytest.mark.parametrize("text", ["sk-secret", "{", "[1]", "=3", "{1: 2}"])
def test_anything_else_is_refused_without_repeating_it(text):
    with pytest.raises(typer.BadParameter) as refused:
        arguments([text])

    assert text not in str(refused.value) or len(text) < 3


@pytest.mark.parametrize("depth", [150, 3000])
def test_values_nested_too_deeply_are_refused_in_words(depth, tmp_path):
    deep = '{"x": ' + "[" * depth + "]" * depth + "}"
    (tmp_path / "deep.json").write_text(deep)
    for option, value in (("--agent-args", deep), ("--prices", tmp_path / "deep.json")):
        typed = ("--domain", "library", "--agent", "noisy", "--dry-run", option, value)
        refused = maseval("tau2", "run", *typed)

        assert refused.exit_code == 2
        assert "more than 100 levels deep" in " ".join(refused.stderr.replace("│", " ").split())
