"""Environment variables that workers need: keys, and the addresses of providers.

They are sent as an argument. Ray's own way, ``runtime_env``, would show them on its dashboard and
write them to its logs.
"""

import os
from collections.abc import Iterable, Mapping

from maseval.core.storage.redaction import Secrets, is_secret

_ADDRESSES = ("_BASE_URL", "_API_BASE", "_ENDPOINT", "_API_VERSION")


def needed_by_workers(more: Iterable[str] = ()) -> dict[str, str]:
    """Every variable whose name says that it is a secret or an address, and those named."""
    wanted = frozenset(more)
    return {name: value for name, value in os.environ.items() if _travels(name, value, wanted)}


def _travels(name: str, value: str, wanted: frozenset[str]) -> bool:
    return name in wanted or name.endswith(_ADDRESSES) or _is_key(name, value)


def _is_key(name: str, value: str) -> bool:
    # Ray's own token opens the cluster of this machine, not that of another.
    return not name.startswith("RAY_") and is_secret(name, value)


class OwnSecrets:
    """The secrets of this machine, beside those that were sent to it."""

    def __init__(self, given: Mapping[str, str]) -> None:
        values = [
            value
            for name, value in os.environ.items()
            if is_secret(name, value) and value not in given.values()
        ]
        self._secrets = Secrets(values)
        self._written = [each.encode("utf-8", "surrogatepass") for each in self._secrets.spellings]

    def are_in(self, data: bytes) -> bool:
        """Whether any may be in a pickled value: its texts are in there as they are."""
        return any(each in data for each in self._written)

    def removed_from(self, record: Mapping[str, object]) -> Mapping[str, object]:
        """The record with ``<redacted>`` for every secret."""
        return self._secrets.removed_from(record)
