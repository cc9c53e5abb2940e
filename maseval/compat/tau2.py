"""The names of MASEval's ``benchmark.tau2.tau2`` and ``benchmark.tau2.utils``.

The first holds the benchmark, its user and its agents; the second hashes, files and the comparison
of tool calls, which are methods here.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from maseval.benchmark.tau2.agent import DefaultTau2Agent, DefaultTau2AgentAdapter
from maseval.benchmark.tau2.benchmark import Tau2Benchmark
from maseval.benchmark.tau2.data.files import read_mapping
from maseval.benchmark.tau2.default_benchmark import DefaultAgentTau2Benchmark
from maseval.benchmark.tau2.domains.base import merge
from maseval.benchmark.tau2.formats.message import INITIAL_GREETING
from maseval.benchmark.tau2.user import Tau2User
from maseval.benchmark.tau2.world.world import to_json_str as _to_json_str
from maseval.core.tool import tool_definition
from maseval.interface import extras

__all__ = [
    "INITIAL_GREETING",
    "DefaultAgentTau2Benchmark",
    "DefaultTau2Agent",
    "DefaultTau2AgentAdapter",
    "Tau2Benchmark",
    "Tau2User",
    "_build_tool_definitions",
    "_to_json_str",
    "compare_tool_calls",
    "dump_file",
    "get_dict_hash",
    "get_pydantic_hash",
    "load_file",
    "update_pydantic_model_with_dict",
]

ModelT = TypeVar("ModelT", bound=BaseModel)


def _build_tool_definitions(tools: Mapping[str, Callable[..., object]]) -> list[dict[str, Any]]:
    return [tool_definition(tool) for tool in tools.values()]


def get_dict_hash(d: Mapping[str, Any]) -> str:
    """Return the SHA-256 of a dict, whatever the order of its keys."""
    return sha256(json.dumps(d, sort_keys=True, default=str).encode()).hexdigest()


def get_pydantic_hash(model: BaseModel) -> str:
    return get_dict_hash(model.model_dump())


def update_pydantic_model_with_dict(model: ModelT, update: Mapping[str, Any] | None) -> ModelT:
    """Return a record with values laid over it, validated as a new one."""
    return type(model).model_validate(merge(model.model_dump(), update)) if update else model


def load_file(path: str | PathLike[str]) -> dict[str, Any]:
    """Return the content of a JSON, TOML or YAML file."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"File not found: {file}")
    if _file_format(file) == "yaml":
        content: dict[str, Any] = _yaml().safe_load(file.read_text(encoding="utf-8"))
        return content
    return read_mapping(file)


def dump_file(path: str | PathLike[str], data: Any, **options: Any) -> None:
    """Write a JSON, TOML or YAML file; ``options`` are those of ``json.dumps`` or of PyYAML."""
    file = Path(path)
    match _file_format(file):
        case "yaml":
            text = _yaml().safe_dump(data, **{"sort_keys": False, "allow_unicode": True, **options})
        case "toml":
            text = extras.load_unlisted("tomli_w", "tomli-w").dumps(data)
        case _:
            text = json.dumps(data, **{"indent": 2, **options})
    file.write_text(text, encoding="utf-8")


def _file_format(file: Path) -> str:
    known = {".json": "json", ".toml": "toml", ".yaml": "yaml", ".yml": "yaml"}
    if file.suffix not in known:
        raise ValueError(
            f"Unsupported file format {file.suffix!r} of {file}: give one of {', '.join(known)}"
        )
    return known[file.suffix]


def _yaml() -> Any:
    return extras.load("yaml", extra="yaml", package="PyYAML")


def compare_tool_calls(
    expected_name: str,
    expected_args: Mapping[str, Any],
    actual_name: str,
    actual_args: Mapping[str, Any],
    compare_args: Sequence[str] | None = None,
) -> bool:
    """Compare a call with the expected one, in all of its arguments or in those that are named."""
    compared = list(actual_args) if compare_args is None else compare_args
    return expected_name == actual_name and all(
        (key in expected_args, expected_args.get(key)) == (key in actual_args, actual_args.get(key))
        for key in compared
    )
