"""Hashes, files and the comparison of tool calls, as functions."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel

from maseval.benchmark.tau2.data.files import read_mapping
from maseval.benchmark.tau2.domains.base import merged

ModelT = TypeVar("ModelT", bound=BaseModel)


def get_dict_hash(d: Mapping[str, Any]) -> str:
    """The SHA-256 of a dict, whatever the order of its keys."""
    return sha256(json.dumps(d, sort_keys=True, default=str).encode()).hexdigest()


def get_pydantic_hash(model: BaseModel) -> str:
    """The SHA-256 of a record."""
    return get_dict_hash(model.model_dump())


def update_pydantic_model_with_dict(model: ModelT, update: Mapping[str, Any] | None) -> ModelT:
    """A record with values laid over it, validated as a new one."""
    return type(model).model_validate(merged(model.model_dump(), update)) if update else model


def load_file(path: str | PathLike[str]) -> dict[str, Any]:
    """What a JSON or TOML file holds."""
    file = Path(path)
    if not file.is_file():
        raise FileNotFoundError(f"File not found: {file}")
    if file.suffix not in (".json", ".toml"):
        raise ValueError(f"Unsupported file format {file.suffix!r} of {file}: give .json or .toml")
    return read_mapping(file)


def dump_file(path: str | PathLike[str], data: object, **options: Any) -> None:
    """Write a JSON file."""
    file = Path(path)
    if file.suffix != ".json":
        raise ValueError(f"Unsupported file format {file.suffix!r} of {file}: give .json")
    file.write_text(json.dumps(data, **{"indent": 2, **options}), encoding="utf-8")


def compare_tool_calls(
    expected_name: str,
    expected_args: Mapping[str, Any],
    actual_name: str,
    actual_args: Mapping[str, Any],
    compare_args: Sequence[str] | None = None,
) -> bool:
    """Whether a call is the expected one, in all of its arguments or in those that are named."""
    compared = list(actual_args) if compare_args is None else compare_args
    return expected_name == actual_name and all(
        (key in expected_args, expected_args.get(key)) == (key in actual_args, actual_args.get(key))
        for key in compared
    )
