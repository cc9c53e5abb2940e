"""The judge's prompts: read out of the original's source file, and filled.

The file is Python; it is parsed as text and never executed. Its templates have single braces. The
public form, which people may write themselves, has double ones: ``{{scenario}}``.

Source: ``src/prompt_templates.py`` (Amazon.com, Inc. or its affiliates; MIT-0), fetched.
"""

import ast
import re
from collections.abc import Mapping
from functools import lru_cache

from maseval.benchmark.macs.data.files import TEMPLATES_FILE, original_files
from maseval.data.python_source import SourceShapeError, parse_source, refuse_unreadable
from maseval.data.store import AnyPath

CONSTANTS = {"user": "USER_GSR_PROMPT", "system": "SYSTEM_GSR_PROMPT", "issues": "ISSUES_PROMPT"}
"""The purpose of each template, and its name in the original."""

Templates = Mapping[str, str]


def load_templates(data_dir: AnyPath | None = None, verbose: int = 1) -> Templates:
    """Return the templates ``user``, ``system`` and ``issues`` in the public form."""
    content = original_files([TEMPLATES_FILE], data_dir, verbose=verbose)[TEMPLATES_FILE]
    return _public_forms(content)


@lru_cache(maxsize=2)
def _public_forms(content: bytes) -> Templates:
    found = constants_in(content)
    missing = [name for name in CONSTANTS.values() if name not in found]
    if missing:
        raise SourceShapeError(f"{TEMPLATES_FILE} does not define {', '.join(missing)}")
    return {kind: public_form(found[name]) for kind, name in CONSTANTS.items()}


def public_form(template: str) -> str:
    """Return a template of the original with double braces."""
    return template.replace("{", "{{").replace("}", "}}")


def fill_template(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its ``{{names}}`` replaced in one pass: values are not expanded."""
    return re.sub(r"\{\{(\w+)\}\}", lambda hole: values.get(hole[1], hole[0]), template)


def constants_in(content: bytes) -> dict[str, str]:
    """Return the texts that a Python file assigns; it may do nothing else."""
    found: dict[str, str] = {}
    module = parse_source(TEMPLATES_FILE, content)
    with refuse_unreadable(TEMPLATES_FILE):
        for statement in module.body:
            match statement:
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    found[name] = _text(value, found)
                case _:
                    raise _shape_error(statement)
    return found


def _text(node: ast.expr, known: Mapping[str, str]) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) if name in known:
            return known[name]
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _text(left, known) + _text(right, known)
    raise _shape_error(node)


def _shape_error(node: ast.stmt | ast.expr) -> SourceShapeError:
    return SourceShapeError(
        f"{TEMPLATES_FILE}, line {node.lineno}: only texts, names of texts and their sums may be "
        "assigned there"
    )
