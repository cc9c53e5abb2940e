"""Folders of the data for people who want to look at it, edit it or pass it on.

``original`` holds the two files of each domain as they were fetched, ``restructured`` the tasks and
agent configurations made from them. A run does not need either.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from maseval.benchmark.macs.data.files import (
    ATTRIBUTION,
    MANIFEST,
    VALID_DOMAINS,
    MACSDataError,
    agents_file,
    default_data_dir,
    original_files,
    scenarios_file,
)
from maseval.benchmark.macs.data.reading import chosen_domains, decoded, file_in
from maseval.benchmark.macs.data.restructuring import agent_config_of, tasks_of
from maseval.benchmark.macs.templates import load_templates
from maseval.data.download import text_at
from maseval.data.folder import write_file
from maseval.data.store import AnyPath


def ensure_data_exists(
    data_dir: AnyPath | None = None, force_download: bool = False, verbose: int = 1
) -> Path:
    """See to it that ``data_dir`` holds the data of all domains; returns ``restructured`` in it.

    Without a ``data_dir`` that is the cache. What is missing is fetched; with ``force_download``
    everything is.
    """
    root = _root(data_dir)
    made = [
        root / "restructured" / domain / name
        for domain in VALID_DOMAINS
        for name in ("agents.json", "tasks.json")
    ]
    if force_download or not all(path.is_file() for path in made):
        _store_originals(root, VALID_DOMAINS, force_download, verbose)
        restructure_data(root, verbose=verbose)
    return root / "restructured"


def process_data(verbose: int = 1) -> Path:
    """Fetch and rearrange everything anew."""
    return ensure_data_exists(force_download=True, verbose=verbose)


def download_original_data(
    data_dir: AnyPath | None = None, domain: str | None = None, verbose: int = 1
) -> Path:
    """Store the original's files, verified, below ``original`` in ``data_dir``; returns it."""
    return _store_originals(_root(data_dir), chosen_domains(domain), False, verbose)


def restructure_data(
    data_dir: AnyPath | None = None, domain: str | None = None, verbose: int = 1
) -> Path:
    """Write tasks and agent configurations from what ``original`` holds; returns the folder."""
    root = _root(data_dir)
    for name in chosen_domains(domain):
        agents = file_in(root, "original", name, "agents.json")
        scenarios = file_in(root, "original", name, "scenarios.json")
        raw_agents = decoded(f"{name}/agents.json", agents)
        raw_scenarios = decoded(f"{name}/scenarios.json", scenarios)
        tasks = tasks_of(raw_scenarios, raw_agents, {"domain": name, **_attribution(scenarios)})
        folder = root / "restructured" / name
        _write(folder / "tasks.json", tasks)
        _write(folder / "agents.json", {**agent_config_of(raw_agents), **_attribution(agents)})
    return root / "restructured"


def download_prompt_templates(data_dir: AnyPath | None = None, verbose: int = 1) -> Path:
    """Write the judge's prompts as text files into the folder ``prompt_templates``; returns it.

    It stands beside ``data_dir``. The files have the form that ``MACSEvaluator`` takes.
    """
    folder = _root(data_dir).parent / "prompt_templates"
    for kind, template in load_templates(verbose=verbose).items():
        write_file(folder / f"{kind}.txt", template.encode())
    return folder


def download_file(url: str, timeout: int = 15) -> str:
    """The text behind ``url``; nothing in it is checked."""
    return text_at(url, timeout)


def download_json(url: str) -> object:
    """The JSON document behind ``url``; nothing in it is checked."""
    try:
        document: object = json.loads(download_file(url))
    except ValueError as error:
        raise MACSDataError(f"Failed to decode JSON from {url}: {error}") from error
    return document


def _store_originals(root: Path, domains: Sequence[str], force: bool, verbose: int) -> Path:
    for domain in domains:
        named = {"agents.json": agents_file(domain), "scenarios.json": scenarios_file(domain)}
        contents = original_files(named.values(), force_download=force, verbose=verbose)
        for name, source in named.items():
            write_file(root / "original" / domain / name, contents[source])
    return root / "original"


def _root(data_dir: AnyPath | None) -> Path:
    return default_data_dir() if data_dir is None else Path(data_dir).expanduser()


def _attribution(content: bytes) -> dict[str, str]:
    """Whose the texts are, if the file they were made from is the original's."""
    found = hashlib.sha256(content).hexdigest()
    genuine = any(file.sha256 == found for file in MANIFEST.files.values())
    return {"attribution": ATTRIBUTION} if genuine else {}


def _write(path: Path, document: object) -> None:
    write_file(path, json.dumps(document, indent=2, ensure_ascii=False).encode())
