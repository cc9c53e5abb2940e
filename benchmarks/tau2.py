"""What the tau2 measurements share: the yardstick Y, the data and the recorded conversations."""

import gzip
import json
import os
from pathlib import Path
from typing import Any

from benchmarks.table import best
from maseval.benchmark.tau2.data_loader import DataUnavailableError, ensure_data_exists
from maseval.benchmark.tau2.domains.releases import RELEASES


def data_folder() -> Path:
    """The v0.2.0 data, fetched if it is not there."""
    return ensure_data_exists(verbose=0)


def yardstick() -> float:
    """Y: the time to parse airline's database once; every figure is given in its units."""
    text = (data_folder() / "domains/airline/db.json").read_text(encoding="utf-8")
    return best(lambda: json.loads(text))


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
