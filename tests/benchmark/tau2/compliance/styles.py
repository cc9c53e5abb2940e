"""Pairs of conversations in other styles: a breach of a rule, and a twin that keeps the policy.

``styles_*.txt`` begin with the calls (``%name tool {arguments}``) that their pairs use, beside
those of the sets before. A pair is headed by ``== domain rule style``. Its lines are what is
said (``A:``, ``U:``) and called (``> name``, or a whole call). A line behind ``~`` stands in the
breach in place of the one before it, and one behind ``+`` stands in the breach alone. ``\\n`` and
``\\u00a0`` are written out. In ``styles_alarms.txt`` there is no breach.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.benchmark.tau2.compliance.gold_talk import Do, Say, Step

SETS = (
    *("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth"),
    *("tenth", "eleventh", "twelfth", "thirteenth", "fourteenth"),
)
_ROLES = {"A": "assistant", "U": "user"}


class Pair(NamedTuple):
    """A breach of a rule and its twin that keeps the policy."""

    domain: str
    rule: str
    style: str
    clean: list[Step]
    breach: list[Step]


def pairs(name: str) -> Iterator[Pair]:
    head, *told = _parts(name)
    before = SETS[: SETS.index(name)] if name in SETS else SETS[:1]
    shared = "\n".join(_parts(each)[0] for each in before)
    calls = dict(re.findall(r"^%(\S+) (.+)$", f"{shared}\n{head}", flags=re.M))
    for each in told:
        title, *lines = each.strip().splitlines()
        domain, rule, style = title.split()
        clean: list[str] = []
        breach: list[str] = []
        for line in lines:
            if line.startswith("~"):
                breach[-1:] = [line[1:]] if line[1:] else []
            elif line.startswith("+"):
                breach.append(line[1:])
            elif line:
                clean.append(line)
                breach.append(line)
        steps = ([_step(one, calls) for one in side] for side in (clean, breach))
        yield Pair(domain, f"{domain}.{rule}", style, *steps)


def _parts(name: str) -> list[str]:
    text = Path(__file__).with_name(f"styles_{name}.txt").read_text(encoding="utf-8")
    return re.split(r"^== ", text, flags=re.M)


def _step(line: str, calls: dict[str, str]) -> Step:
    kind, _, rest = line.partition(" ")
    if kind == ">":
        name, _, arguments = calls.get(rest, rest).partition(" ")
        return Do(name, json.loads(arguments))
    spoken = re.sub(r"\\u([0-9a-f]{4})", lambda found: chr(int(found[1], 16)), rest)
    spoken = spoken.encode("utf-16", "surrogatepass").decode("utf-16")
    return Say(_ROLES[kind.rstrip(":")], spoken.replace("\\n", "\n"))
