"""What the tau2 measurements share: the yardstick Y, the data and the recorded conversations."""

import gzip
import json
import os
import time
from collections import defaultdict
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any
from unittest.mock import patch

from benchmarks.table import best, seconds
from maseval.benchmark.tau2.data_loader import DataUnavailableError, ensure_data_exists
from maseval.benchmark.tau2.domains.releases import RELEASES
from maseval.benchmark.tau2.scoring import score
from maseval.benchmark.tau2.world import setting
from maseval.benchmark.tau2.world.state.copying import once


def data_folder() -> Path:
    """The v0.2.0 data, fetched if it is not there."""
    return ensure_data_exists(verbose=0)


def yardstick() -> float:
    """Y: the time to parse airline's database once; every figure is given in its units."""
    text = (data_folder() / "domains/airline/db.json").read_text(encoding="utf-8")
    return best(lambda: json.loads(text), clock=time.process_time)


def in_y(seconds: float, unit: float) -> str:
    """A time in units of Y, as it is easiest to read."""
    ratio = seconds / unit
    return f"{ratio:.2f} Y" if ratio > 0.5 else f"Y/{1 / ratio:,.0f}"


def contract_folder() -> Path | None:
    """The recorded vectors, beside the checkout or where MASEVAL_CONTRACT_DIR points."""
    beside = Path(__file__).parents[2] / "shared/contract"
    folder = Path(os.environ.get("MASEVAL_CONTRACT_DIR", beside))
    return folder if folder.is_dir() else None


def releases() -> list[str]:
    """The releases whose data is here, or can be fetched."""
    return [version for version in RELEASES if _is_there(version)]


def _is_there(version: str) -> bool:
    try:
        ensure_data_exists(domain="telecom", verbose=0, version=version)
    except DataUnavailableError:
        return False
    return True


def conversations(domain: str) -> list[str]:
    """Recorded conversations, each a line of JSON; none where there is no contract folder."""
    folder = contract_folder()
    if folder is None:
        return []
    with gzip.open(folder / f"conversations/{domain}.jsonl.gz", "rt", encoding="utf-8") as lines:
        return list(lines)


def replayable(domain: str) -> list[dict[str, Any]]:
    """The recorded conversations that the original could score."""
    records = [json.loads(line) for line in conversations(domain)]
    return [record for record in records if record["exception"] is None]


def every_call_made() -> AbstractContextManager[object]:
    """Let verdicts make every call of a conversation again, whoever has made it before."""
    return patch.object(
        score, "look_at_end", lambda stage, task, messages, look: look(stage.world_after(messages))
    )


def no_call_known() -> AbstractContextManager[object]:
    """Let verdicts know no calls of earlier conversations, but those from now on."""
    states_of: Any = setting._states_of
    return patch.object(setting, "_states_of", once(setting.TASKS)(states_of.__wrapped__))


def left_out(work: Callable[[Any], object], by_task: Iterable[tuple[object, Any]]) -> float:
    """Seconds for one verdict, if only the other conversations of its task were judged before.

    ``work`` judges one of the conversations, each of which comes with its task.
    """
    siblings: defaultdict[object, list[Any]] = defaultdict(list)
    for task, conversation in by_task:
        siblings[task].append(conversation)

    def alone(here: int, those: list[Any]) -> float:
        with no_call_known():
            for other in those[:here] + those[here + 1 :]:
                work(other)
            return seconds(lambda: work(those[here]), time.process_time)

    times = [alone(here, those) for those in siblings.values() for here in range(len(those))]
    return sum(times) / len(times)
