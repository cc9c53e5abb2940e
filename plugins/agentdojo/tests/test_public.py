"""The distribution uses what anybody may use."""

import ast
import importlib
from pathlib import Path

import maseval_agentdojo

PUBLIC = ("maseval", "maseval.commands", "maseval.runs", "maseval.stats")
FILES = sorted(Path(maseval_agentdojo.__path__[0]).glob("*.py"))


def test_only_public_names_of_maseval_are_imported():
    used = set()
    for file in FILES:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "maseval":
                used |= {(node.module, each.name) for each in node.names}
            if isinstance(node, ast.Import):
                assert not [each for each in node.names if each.name.startswith("maseval.")]

    assert used
    for module, name in used:
        assert module in PUBLIC, f"{module} is not public"
        assert name in importlib.import_module(module).__all__, f"{module}.{name} is not public"


def test_it_stays_small():
    assert sum(len(file.read_text().splitlines()) for file in FILES) <= 900
