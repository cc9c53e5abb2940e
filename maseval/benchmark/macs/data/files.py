"""The benchmark's files: their manifest at one commit, their formats, and the tasks in them.

They are data of somebody else: any key may be missing, so they stay plain documents.

- A scenario has the wishes of a simulated user (``scenario``), their first message
  (``input_problem``) and the ``assertions`` that are judged.
- Agents have an ``agent_id``, ``agent_name``, ``agent_instruction``, ``tools``, and
  ``reachable_agents`` with the ``scenario`` in which to call each.
- An action of a group of tools has a ``name``, ``description``, ``input_schema`` and
  ``output_schema``, in which ``data_type`` stands for the standard's ``type``.

The original keeps whole tools inside every agent; a task gets each group of tools once, and an
agent only the names of its groups.

Source: multiagent-collab-scenario-benchmark (Amazon.com, Inc. or its affiliates); data CC BY 4.0,
code MIT-0. The package carries none of these files.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from maseval.core.exceptions import ConfigurationError, TaskFormatError
from maseval.core.recorded import Shape, entries, mapping
from maseval.core.tracing import JsonObject
from maseval.data.files import DataError, DataUnavailableError, Manifest, cache_dir, parse_listing
from maseval.data.folder import AnyPath, fill, place_of
from maseval.data.sources import FetchProgress

_TASK_KEYS = ("input_problem", "query", "assertions")


def tasks_of(scenarios: object, agents: object, labels: Shape) -> list[JsonObject]:
    """Return the tasks of a domain as dicts; ``labels`` are added to the metadata of each."""
    described = mapping(agents)
    surroundings = {
        "tools": unique_groups(objects_in(agents, "agents")),
        **{key: described[key] for key in ("primary_agent_id", "human_id") if key in described},
    }
    return [
        _task(index, scenario, surroundings, labels)
        for index, scenario in enumerate(objects_in(scenarios, "scenarios"))
    ]


def _task(index: int, scenario: Shape, surroundings: JsonObject, labels: Shape) -> JsonObject:
    rest = {key: value for key, value in scenario.items() if key not in _TASK_KEYS}
    return {
        "id": f"task-{index + 1:06d}",
        "query": scenario.get("input_problem") or scenario.get("query") or "",
        # Every task gets a copy, because model ids are written into it.
        "environment_data": dict(surroundings),
        "evaluation_data": {"assertions": scenario.get("assertions") or []},
        "user_data": {},
        "metadata": {**rest, "scenario_index": index, **labels},
    }


def agent_config_of(agents: object) -> JsonObject:
    """Return every agent with the names of its groups; nothing for what is no object."""
    if not isinstance(agents, Mapping):
        return {}
    named = [
        {**agent, "tools": [name for group in _groups(agent) if (name := _name(group))]}
        for agent in objects_in(agents, "agents")
    ]
    ids = {key: agents[key] for key in ("primary_agent_id", "human_id") if key in agents}
    return {"agents": named, **ids}


def unique_groups(agents: Iterable[Shape]) -> list[Shape]:
    """Return each group of tools once, nameless ones first, then in order of first appearance."""
    nameless: list[Shape] = []
    named: dict[str, Shape] = {}
    for group in (group for agent in agents for group in _groups(agent)):
        name = _name(group)
        if name is None:
            nameless.append(group)
        # Agents share groups, and each brings a copy of the whole description.
        elif named.setdefault(name, group) != group:
            raise ConfigurationError(
                f"Conflicting tools for tool_name={name!r}: two agents describe it differently; "
                "give one of the two another name"
            )
    return [*nameless, *named.values()]


def objects_in(value: object, key: str) -> list[Shape]:
    """Return the objects of a list, which may also be what an object has at ``key``."""
    listed = value if isinstance(value, list) else mapping(value).get(key)
    return [entry for entry in entries(listed) if isinstance(entry, Mapping)]


def _groups(agent: Shape) -> list[Shape]:
    return [group for group in entries(agent.get("tools")) if isinstance(group, Mapping)]


def _name(group: Shape) -> str | None:
    name = group.get("tool_name")
    return str(name) if name else None


VALID_DOMAINS = ("travel", "mortgage", "software")
COMMIT = "cb82575c0846bb147423bebacc8597bc24196142"
REPOSITORY = "https://github.com/aws-samples/multiagent-collab-scenario-benchmark"
BASE_URL = REPOSITORY.replace("https://github.com", "https://raw.githubusercontent.com")
TEMPLATES_FILE = "src/prompt_templates.py"

ATTRIBUTION = (
    "Data: Multi-Agent Collaboration Scenario Benchmark (R. Shu, N. Das, M. Yuan, M. Sunkara, "
    "Y. Zhang; arXiv:2412.05449). Copyright Amazon.com, Inc. or its affiliates. CC BY 4.0, "
    f"https://creativecommons.org/licenses/by/4.0/. Source: {REPOSITORY} at {COMMIT[:8]}, "
    "rearranged."
)
"""What must go with every file that holds texts of the scenarios."""

MANIFEST = Manifest(
    "macs",
    COMMIT,
    parse_listing(
        """\
2de861c4a0180abaa3b7fbbbe6a3b4d19fda8fdf2ab823a800ada0e81ea3db3f 283469 datasets/travel/agents.json
473a3858e2f7582e4e14bfa98fc180bb42fdba0134c920023844671d8fbbeec0 46291 datasets/travel/scenarios_30.json
01750d2655634065c9f80923fff19454a5e1c8da1bda4a559590da530740a518 144356 datasets/mortgage/agents.json
53ccd19d6c92c9aef25d7889c834668c63f8a7f262d947e7bd6a015f505d363a 44186 datasets/mortgage/scenarios_30.json
413446c1a60c1ac9205db2026ac45e93449304240fd03c6a5de2264998a79e37 55742 datasets/software/agents.json
9ca35e5fee81ddd1b081a09f1b351e94aed0df986ccdb1283d73c500ffef6d6c 153118 datasets/software/scenarios_30.json
860a1eab371739d37386eb1f416237b688f437276bddea9b7126682650e4cbc1 1812 src/prompt_templates.py
"""  # noqa: E501
    ),
    base_url=BASE_URL,
    command="maseval macs data fetch",
)

MACSDataError = DataError
"""Whatever is wrong with the files: not to be had, not the right ones, or not readable."""


def agents_file(domain: str) -> str:
    return f"datasets/{domain}/agents.json"


def scenarios_file(domain: str) -> str:
    return f"datasets/{domain}/scenarios_30.json"


def default_data_dir() -> Path:
    """Return the folder of fetched files: below ``MASEVAL_CACHE_DIR``, else the user's cache."""
    return cache_dir() / "benchmark" / "macs" / "data"


def original_files(
    names: Iterable[str],
    data_dir: AnyPath | None = None,
    *,
    force_download: bool = False,
    verbose: int = 1,
) -> dict[str, bytes]:
    """Return the verified contents of files by the original's names, fetched if they are missing.

    ``data_dir`` is a folder or an archive that has them by these names; None means the cache.
    """
    place = place_of(data_dir, MANIFEST, default_data_dir())
    needed = [MANIFEST.files[name] for name in names]
    lacking = place.folder.lacking(needed)
    if place.is_cache and (lacking or force_download):
        progress = FetchProgress(verbose, MANIFEST.benchmark)
        fill(place.folder, needed, place.sources, progress, force=force_download)
    elif lacking:
        place.refuse_lacking_files(
            lacking,
            f"the one in {REPOSITORY} at commit {COMMIT}",
            f"a checkout of {REPOSITORY} at {COMMIT} has it",
        )
    return {file.name: place.folder.path(file).read_bytes() for file in needed}


def check_domain(domain: str, words: str = "Invalid domain {!r}. Must be one of {}") -> None:
    if domain not in VALID_DOMAINS:
        raise ConfigurationError(words.format(domain, ", ".join(VALID_DOMAINS)))


def chosen_domains(domain: str | None) -> Sequence[str]:
    """Return the domain, or all of them if none is named."""
    if domain is None:
        return VALID_DOMAINS
    check_domain(domain, "Unknown domain: {!r}; choose one of {}")
    return (domain,)


def read_file(root: Path, folder: str, domain: str, name: str) -> bytes:
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


def decode_json(name: str, content: bytes) -> object:
    """Return the JSON document in a file called ``name``."""
    try:
        document: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise TaskFormatError(f"{name} is not a JSON file: {error}") from error
    return document
