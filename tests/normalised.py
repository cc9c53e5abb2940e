"""Reports without what differs between equal runs, to be compared byte for byte."""

import re
from collections.abc import Mapping
from uuid import UUID

_VARYING = frozenset(
    {
        *("run_id", "thread_id", "started_at", "timestamp", "gathered_at", "elapsed"),
        *("duration_seconds", "total_duration_seconds", "average_duration_seconds"),
        *("start_time", "end_time", "duration"),
        *("waited_seconds", "total_waited_seconds"),
    }
)
_ELAPSED = re.compile(r"after \d+\.\d+s")
_ADDRESS = re.compile(r"\bat 0x[0-9a-fA-F]+")


def normalise(report: Mapping[str, object]) -> dict[str, object]:
    """Leave out times, ids of runs, records and threads, and what the machine is."""
    config = report.get("config")
    if isinstance(config, Mapping):
        of_the_task = {key: item for key, item in config.items() if key != "benchmark"}
        report = {**report, "config": of_the_task}
    return {key: _without_varying(item) for key, item in report.items() if key not in _VARYING}


def _without_varying(value: object) -> object:
    match value:
        case Mapping():
            return {
                key: _without_varying(item)
                for key, item in value.items()
                if key not in _VARYING and not (key == "id" and _is_uuid(item))
            }
        case list() | tuple():
            return [_without_varying(item) for item in value]
        case str():
            return _ADDRESS.sub("at 0x…", _ELAPSED.sub("after some time", value))
        case _:
            return value


def _is_uuid(value: object) -> bool:
    try:
        UUID(str(value))
    except ValueError:
        return False
    return True
