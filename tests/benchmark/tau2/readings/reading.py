"""Conversations that people read, and how far the causes that are found agree with them.

``readings.jsonl`` has 120 failures and 60 passes, drawn with the seed 20261116 and read without a
cause at hand; ``earlier.jsonl`` has 247 failures with which earlier rules were made. All of them
have been looked at while the steps were written, so that the agreement is that of tuned material. A
reading says who failed (``who``), who besides (``also``), and whether the task is sound.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.causes import find_cause
from maseval.core.finding import Finding
from tests.contract.replay import records

FOLDER = Path(__file__).parent
Reading = Mapping[str, Any]


class Compared(NamedTuple):
    """A reading, and the cause that was found of the same failure."""

    reading: Reading
    cause: Finding

    @property
    def domain(self) -> str:
        return str(self.reading["domain"]).removesuffix("-workflow")

    @property
    def is_open(self) -> bool:
        """True if no party is blamed."""
        return self.cause.who == "unclear"

    @property
    def names_the_first(self) -> bool:
        return self.cause.who == self.reading["who"]

    @property
    def names_one(self) -> bool:
        """True if the cause blames the reader's party, or one that the reader names besides."""
        return self.cause.who in (self.reading["who"], *self.reading.get("also", ()))


def readings(name: str, kind: str) -> list[Reading]:
    """The readings of a file, of one kind (``failure`` or ``pass``)."""
    with (FOLDER / f"{name}.jsonl").open(encoding="utf-8") as lines:
        found = [json.loads(line) for line in lines]
    return [each for each in found if each["kind"] == kind]


def compare_readings(name: str, contract: Path) -> Iterator[Compared]:
    """Find the cause of each failure that was read and whose reader names a party."""
    recorded = conversations(contract)
    for reading in readings(name, "failure"):
        if reading["who"] != "nobody":
            record = recorded[reading["id"]]
            found = find_cause(record["simulation"], domain=record["domain"], **_how(record))
            assert found is not None
            yield Compared(reading, found)


def _how(record: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords with which a conversation is scored as it was recorded."""
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


def count_agreement(found: Iterable[Compared]) -> Counter[str]:
    """Count the causes that agree, and how many would if they always blamed the agent."""
    total: Counter[str] = Counter()
    for each in found:
        total["read"] += 1
        total["first"] += each.names_the_first
        total["named"] += each.names_one
        total["open"] += each.is_open
        total["agent"] += each.reading["who"] == "agent"
    return total
