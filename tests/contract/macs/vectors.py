"""Reading the recorded vectors of MACS."""

import json
from pathlib import Path
from typing import Any

CASES = {
    "judge_outputs": 54,
    "assertions": 63,
    "conversations": 19,
    "evaluations": 80,
    "judge_prompts": 54,
    "aggregates": 7,
    "tools": 50,
    "tool_calls": 9,
    "tasks": 54,
    "user": 17,
    "benchmark_metrics": 13,
    "runs": 6,
}


def cases_in(folder: Path, name: str) -> list[dict[str, Any]]:
    """The cases of a file, none missing; split on newlines only: texts contain U+2028."""
    text = (folder / f"{name}.jsonl").read_text(encoding="utf-8")
    found = [json.loads(line) for line in text.split("\n") if line]
    assert len(found) >= CASES[name]
    return found


def canonical(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
