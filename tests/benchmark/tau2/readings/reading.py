"""Conversations that people read, and how far labels agree with them.

``readings.jsonl`` has 120 failures and 60 passes, drawn with the seed 20261116 and read without a
label at hand; ``earlier.jsonl`` has the failures whose readings the rules were made with. A reading
says who failed (``who``), who besides (``also``), and whether the task is sound.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.labels import Label, label
from tests.contract.replay import records

FOLDER = Path(__file__).parent
Reading = Mapping[str, Any]


class Compared(NamedTuple):
    """A reading and the label of the same failure; ``agreement`` is right, left open or wrong."""

    reading: Reading
    label: Label | None
    agreement: str

    @property
    def domain(self) -> str:
        return str(self.reading["domain"]).removesuffix("-workflow")


def readings(name: str, kind: str) -> list[Reading]:
    """The readings of a file, of one kind (``failure`` or ``pass``)."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [each for each in found if each["kind"] == kind]


def compared(name: str, contract: Path) -> Iterator[Compared]:
    """Label each failure that was read, and hold the label against the reading."""
    recorded = conversations(contract)
    for reading in readings(name, "failure"):
        record = recorded[reading["id"]]
        found = label(record["simulation"], domain=record["domain"], **_how(record))
        yield Compared(reading, found, _agreement(reading["who"], found))


def _agreement(who: str, found: Label | None) -> str:
    blamed = "nobody" if found is None or found.who == "unclear" else found.who
    if blamed == who:
        return "right"
    return "left open" if blamed == "nobody" else "wrong"


def _how(record: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords with which a conversation is judged as it was recorded."""
    if "embedded_task" not in record:
        return {"solo": record["solo"]}
    task = record["embedded_task"]
    return {"version": "1.0.1"} | ({"task": task} if task else {})


def conversations(contract: Path) -> dict[str, Mapping[str, Any]]:
    """The public conversations of the contract folder by their ids."""
    files = [
        contract / f"conversations/{each}.jsonl.gz" for each in ("airline", "retail", "telecom")
    ]
    files.append(contract / "v1.0.1/conversations_v1/conversations.jsonl.gz")
    return {record["id"]: record for file in files for record in records(file)}


def counts(found: Iterable[Compared]) -> Counter[str]:
    """How many labels agree, and how many would if they always blamed the agent."""
    total: Counter[str] = Counter()
    for each in found:
        total[each.agreement] += 1
        total["always the agent"] += each.reading["who"] == "agent"
    return total
