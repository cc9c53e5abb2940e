"""Docstrings of the discoverable tools of banking_knowledge, which tools show as their results.

They follow rules of their own: parameters come from the docstring, not from the signature.
"""

import inspect
import re

from maseval.benchmark.tau2.texts.docstrings import limit_length
from maseval.benchmark.tau2.texts.shapes import Scope
from maseval.benchmark.tau2.texts.texts import DiscoverableParameter, DiscoverableTool
from maseval.data.python_source import SourceShapeError

_ARGS = re.compile(r"\n\s*Args:\s*\n")
_RETURNS = re.compile(r"\n\s*Returns:\s*\n")
_PARAMETER = re.compile(r"^\s*(\w+)\s*(?:\(([^)]+)\))?\s*:\s*(.+?)$", re.MULTILINE)
_OPTIONAL = re.compile(r",?\s*optional", re.IGNORECASE)
_DEFAULT_MESSAGE = "Action completed successfully."


def discoverable_tool(function: Scope, name: str) -> DiscoverableTool:
    raw = function.docstring()
    if not raw:
        raise SourceShapeError(f"{function.place}: a discoverable tool without a docstring")
    limit_length(raw, function.place)
    description, *rest = _ARGS.split(inspect.cleandoc(raw), maxsplit=1)
    arguments, *results = _RETURNS.split(rest[0], maxsplit=1) if rest else ("",)
    return DiscoverableTool(
        name=name,
        description=description.strip(),
        parameters={match[1]: _parameter(match) for match in _PARAMETER.finditer(arguments)},
        success_message=results[0].partition("\n")[0].strip() if results else _DEFAULT_MESSAGE,
    )


def _parameter(match: re.Match[str]) -> DiscoverableParameter:
    kind = match[2] or "string"
    return DiscoverableParameter(
        type=_OPTIONAL.sub("", kind).strip() or "string",
        description=match[3].strip(),
        required="optional" not in kind,
    )
