"""``maseval new``: an agent, a system of several, a domain or a benchmark to start from."""

import keyword
import os
import re
import sys
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import NamedTuple

from maseval.core.exceptions import ConfigurationError, OutputExistsError
from maseval.core.storage.files import write_bytes

# The names of the files of each kind, below the folder that is asked for.
_MODULE = {"NAME.py": "{name}.py", "test_NAME.py": "test_{name}.py"}
KINDS: Mapping[str, Mapping[str, str]] = {
    "agent": _MODULE,
    "system": _MODULE,
    "domain": {
        "NAME.py": "{name}/{name}.py",
        "test_NAME.py": "{name}/test_{name}.py",
        **{file: f"{{name}}/{file}" for file in ("db.json", "policy.md", "tasks.json")},
    },
    "benchmark": {
        "NAME.py": "{name}/{name}.py",
        "test_NAME.py": "{name}/test_{name}.py",
        "pyproject.toml": "{name}/pyproject.toml",
    },
}
_NAME = re.compile(r"[a-z][a-z0-9_]*")


class Skeleton(NamedTuple):
    """The files that were written, and the commands that run and test what is in them."""

    files: list[Path]
    commands: list[str]


def new(kind: str, name: str, folder: str | os.PathLike[str] = ".") -> Skeleton:
    """Write the files of a new one of ``KINDS``, all or none."""
    if kind not in KINDS:
        raise ConfigurationError(f"kind is {kind!r}; choose one of: {', '.join(KINDS)}")
    _check_name(name)
    targets = {
        source: Path(folder) / target.format(name=name) for source, target in KINDS[kind].items()
    }
    # All or none: half a skeleton beside files of somebody else helps nobody.
    for target in targets.values():
        if target.exists():
            raise OutputExistsError(f"{target} already exists; choose another name or folder")
    for source, target in targets.items():
        write_bytes(target, _text(kind, source, name).encode())
    return Skeleton([*targets.values()], _commands(kind, *targets.values()))


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise ConfigurationError(
            f"name is {name!r}; it becomes that of a Python module: write it in lower-case "
            "letters, digits and '_', like my_agent"
        )
    if name in sys.stdlib_module_names or name in ("maseval", "pytest"):
        raise ConfigurationError(f"name is {name!r}, which Python imports from elsewhere")


def _text(kind: str, source: str, name: str) -> str:
    template = files("maseval.app.running").joinpath("skeletons", kind, f"{source}.txt")
    text = template.read_text(encoding="utf-8")
    return Template(text).substitute(name=name, Name=_class_name(name))


def _class_name(name: str) -> str:
    return "".join(part.capitalize() for part in name.split("_"))


def _commands(kind: str, module: Path, test: Path, *others: Path) -> list[str]:
    rehearsal = f"maseval tau2 run --domain library --agent {module}:agent --rehearse gold"
    run = {
        "agent": rehearsal,
        "system": rehearsal,
        "domain": f"maseval tau2 run --domain {module}:DOMAIN --agent gold",
        "benchmark": f"maseval run {module}:{_class_name(module.stem)}",
    }
    return [run[kind], f"python -m pytest {test}"]
