"""Where the original's files are, one by one, for whoever fetches them by hand.

``ensure_data_exists`` is what a run uses: it checks what it fetches.
"""

import json

from maseval.benchmark.tau2.data.files import DEFAULT_VERSION, GITHUB_BASE, Tau2DataError
from maseval.data.download import text_at

_FOLDER = f"{GITHUB_BASE}/{DEFAULT_VERSION}/data/tau2/domains"
_FILES = {
    "retail": ("db.json", "tasks.json", "policy.md"),
    "airline": ("db.json", "tasks.json", "policy.md"),
    "telecom": ("db.toml", "tasks.json", "main_policy.md"),
}
URLS = {
    domain: {
        kind: f"{_FOLDER}/{domain}/{name}"
        for kind, name in zip(("db", "tasks", "policy"), names, strict=True)
    }
    for domain, names in _FILES.items()
}


def download_file(url: str, timeout: float = 30) -> str:
    """The text behind ``url``; nothing in it is checked."""
    return text_at(url, timeout)


def download_json(url: str) -> object:
    """The JSON document behind ``url``; nothing in it is checked."""
    try:
        document: object = json.loads(download_file(url))
    except ValueError as error:
        raise Tau2DataError(f"Failed to decode JSON from {url}: {error}") from error
    return document
