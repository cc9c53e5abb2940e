"""Reading the JSON files of the benchmark: the original's and the rearranged ones."""

import json
from collections.abc import Sequence
from pathlib import Path

from maseval.benchmark.macs.data.files import VALID_DOMAINS
from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.data.files import DataUnavailableError


class MACSDomainError(ConfigurationError):
    """The benchmark has no such domain."""


def check_domain(domain: str) -> None:
    if domain not in VALID_DOMAINS:
        raise MACSDomainError(
            f"Invalid domain {domain!r}. Must be one of {', '.join(VALID_DOMAINS)}"
        )


def chosen_domains(domain: str | None) -> Sequence[str]:
    """The domain, or all of them if none is named."""
    if domain is None:
        return VALID_DOMAINS
    if domain not in VALID_DOMAINS:
        raise MACSDomainError(
            f"Unknown domain: {domain!r}; choose one of {', '.join(VALID_DOMAINS)}"
        )
    return (domain,)


def file_in(root: Path, folder: str, domain: str, name: str) -> bytes:
    """The content of ``root/folder/domain/name``."""
    path = root / folder / domain / name
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise DataUnavailableError(
            f"{folder.capitalize()} data not found: {path}; "
            f"ensure_data_exists({str(root)!r}) writes it"
        ) from error
    except OSError as error:
        raise DataUnavailableError(f"cannot read {path}: {error.strerror}") from error


def decoded(name: str, content: bytes) -> object:
    """The JSON document in a file called ``name``."""
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TaskFormatError(f"{name} is not a JSON file: {error}") from error
    return document
