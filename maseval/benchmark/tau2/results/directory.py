"""What v1.0.x adds to results: a folder with a file for each simulation, and voice.

After tau2-bench v1.0.1, src/tau2/data_model/simulation.py (MIT, Sierra Research).
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from maseval.benchmark.tau2.results.checking import ResultsFormatError

RESULTS_NAME = "results.json"
SIMULATIONS_NAME = "simulations"
NOT_SUPPORTED = "a full-duplex (voice) simulation is not supported and is not scored"

_VOICE_USER = "voice_streaming_user_simulator"


class FullDuplexResultsError(ResultsFormatError):
    """A full-duplex (voice) simulation, which is not supported and never scored."""


def is_voice(info: Mapping[str, Any]) -> bool:
    """Whether a run's ``info`` says that its sides talked at the same time."""
    user = info.get("user_info") or {}
    native = info.get("audio_native_config") is not None
    return native or user.get("implementation") == _VOICE_USER


def simulation_files(path: Path, index: object) -> list[Path]:
    """The files beside a ``results.json``, by name; they must be those that its index lists."""
    files = sorted(
        (path.parent / SIMULATIONS_NAME).glob("*.json"), key=lambda file: os.fsencode(file.name)
    )
    if not isinstance(index, list):
        return files
    found = {file.stem for file in files}
    listed = {str(entry["id"]) for entry in index if isinstance(entry, dict) and "id" in entry}
    problems = {
        "Missing simulation files": sorted(listed - found),
        "Extra simulation files not in index": sorted(found - listed),
    }
    told = "; ".join(f"{problem}: {names}" for problem, names in problems.items() if names)
    if told:
        raise ResultsFormatError(f"Dir format integrity check failed for {path}: {told}")
    return files
