"""The place of a run: the code, the interpreter, the machine, the installed packages.

Facts that cannot change during the process are looked up once. The dictionaries are shared by all
callers and must not be modified.
"""

import functools
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from maseval.core.storage.redaction import is_secret, redact_text
from maseval.core.tracing import JsonObject, now

_GIT_SECONDS = 5.0
# Set while git runs a hook; they would point every call at the hook's own repository.
_GIT_POINTERS = frozenset({"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"})

_PROVIDER_NAMES = ("OPENAI", "ANTHROPIC", "GOOGLE", "GEMINI", "HUGGINGFACE", "HF_")
_TOOL_NAMES = ("WANDB", "LANGFUSE", "CUDA", "PYTORCH", "TF_")
_PYTHON_NAMES = ("PATH", "PYTHONPATH", "VIRTUAL_ENV", "CONDA")
_TELLING_NAMES = _PROVIDER_NAMES + _TOOL_NAMES + _PYTHON_NAMES
_NAME = re.compile(r"^Name:[ \t]*(\S+)", re.MULTILINE)
_VERSION = re.compile(r"^Version:[ \t]*(\S+)", re.MULTILINE)


def gather_benchmark_config(
    repo_path: str | os.PathLike[str] | None = None,
    include_env_vars: bool = True,
    include_packages: bool = True,
) -> JsonObject:
    """Return all of the following, with a timestamp."""
    sections: dict[str, Callable[[], object]] = {
        "timestamp": now,
        "git": functools.partial(get_git_info, repo_path),
        "python": get_python_info,
        "system": get_system_info,
        "packages": get_package_versions,
        "environment": get_environment_variables,
    }
    wanted = {"packages": include_packages, "environment": include_env_vars}
    return {name: look_up() for name, look_up in sections.items() if wanted.get(name, True)}


def get_git_info(repo_path: str | os.PathLike[str] | None = None) -> JsonObject:
    """Return the commit that is checked out around ``repo_path`` (the working folder if None).

    ``{"error", "error_type"}`` where there is no repository, no commit or no git. In
    ``untracked_files`` a folder that holds nothing tracked counts once.
    """
    try:
        folder = str(Path(repo_path or ".").resolve())
    except OSError as error:
        return _failure(error, str(error))
    return _git_info(folder)


@functools.cache
def _git_info(folder: str) -> JsonObject:
    try:
        return _commit(folder) | _work_tree(folder) | {"remote_url": _remote_url(folder)}
    except subprocess.CalledProcessError as error:
        return _failure(error, error.stderr.strip())
    except (OSError, subprocess.TimeoutExpired) as error:
        return _failure(error, str(error))


def _commit(folder: str) -> dict[str, object]:
    commit, author, date, message = _git(
        folder, "log", "-1", "--format=%H%x00%an%x00%cI%x00%B"
    ).split("\0", 3)
    return {
        "commit_hash": commit,
        "commit_hash_short": commit[:7],
        "commit_message": message.strip(),
        "commit_author": author,
        "commit_date": date,
    }


def _work_tree(folder: str) -> dict[str, object]:
    lines = _git(folder, "status", "--porcelain=v2", "--branch").splitlines()
    head = {key: value for key, _, value in (line[2:].partition(" ") for line in lines)}
    branch = head["branch.head"]
    untracked = sum(line.startswith("? ") for line in lines)
    return {
        "branch": f"detached@{head['branch.oid'][:7]}" if branch == "(detached)" else branch,
        "is_dirty": any(line.startswith(("1 ", "2 ", "u ")) for line in lines),
        "untracked_files": untracked,
        "repo_root": _git(folder, "rev-parse", "--show-toplevel").rstrip("\n"),
    }


def _remote_url(folder: str) -> str | None:
    try:
        listing = _git(folder, "config", "--get-regexp", r"^remote\..*\.url$")
    except subprocess.CalledProcessError:
        return None
    urls = dict(line.split(" ", 1) for line in listing.splitlines())
    return redact_text(urls.get("remote.origin.url") or next(iter(urls.values())))


def _git(folder: str, *arguments: str) -> str:
    environment = {key: value for key, value in os.environ.items() if key not in _GIT_POINTERS}
    return subprocess.run(
        ["git", "-C", folder, *arguments],
        check=True,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        timeout=_GIT_SECONDS,
        # Reading must not lock the index of a repository in use.
        env=environment | {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0"},
    ).stdout


def _failure(error: Exception, text: str) -> dict[str, object]:
    return {"error": text, "error_type": type(error).__name__}


@functools.cache
def get_python_info() -> JsonObject:
    parts = ("major", "minor", "micro", "releaselevel", "serial")
    return {
        "version": platform.python_version(),
        "version_full": sys.version,
        "version_info": dict(zip(parts, sys.version_info, strict=True)),
        "executable": sys.executable,
        "implementation": platform.python_implementation(),
        "compiler": platform.python_compiler(),
    }


@functools.cache
def get_system_info() -> JsonObject:
    """Return the machine and its operating system."""
    names = ("system", "release", "version", "machine", "processor")
    return {
        "hostname": platform.node(),
        "platform": platform.platform(),
        **{name: getattr(platform, name)() for name in names},
        "architecture": "64bit" if sys.maxsize > 2**32 else "32bit",
    }


@functools.cache
def get_package_versions() -> dict[str, str]:
    """Return the version of every installed package; "editable" if installed from source."""
    versions: dict[str, str] = {}
    for package in importlib.metadata.distributions():
        # Looking for two lines, as parsing every file of metadata takes ten times as long.
        metadata = _metadata(package)
        name, version = _NAME.search(metadata), _VERSION.search(metadata)
        if name and version:
            # The first one found is the one that is imported.
            versions.setdefault(name[1], "editable" if _is_editable(package) else version[1])
    return dict(sorted(versions.items(), key=lambda item: item[0].lower()))


def _metadata(package: importlib.metadata.Distribution) -> str:
    try:
        return package.read_text("METADATA") or package.read_text("PKG-INFO") or ""
    except UnicodeDecodeError:
        return ""


def _is_editable(package: importlib.metadata.Distribution) -> bool:
    source = package.read_text("direct_url.json")
    try:
        return bool(source and json.loads(source)["dir_info"].get("editable"))
    except (ValueError, KeyError, TypeError):
        return False


def get_environment_variables(include_patterns: Iterable[str] | None = None) -> dict[str, str]:
    """Return the variables whose name contains one of the patterns, in any case.

    Names that sound like a secret are always left out, as are passwords within addresses.
    """
    patterns = [pattern.upper() for pattern in include_patterns or _TELLING_NAMES]
    return {
        name: redact_text(value)
        for name, value in sorted(os.environ.items())
        if any(pattern in name.upper() for pattern in patterns) and not is_secret(name, value)
    }
