"""Pack the labelled conversations that judges are calibrated with, from the sets they stood in.

    python scripts/pack_pairs.py CHECKOUT CONVERSATIONS

``CHECKOUT`` is a checkout of the last revision that still has the sets as texts, below
``tests/benchmark/tau2/compliance`` and ``readings`` (``git worktree add CHECKOUT 3be1f89b``), with
the data and texts of tau2 at hand. ``CONVERSATIONS`` are files of public conversations (lines with
``id`` and ``simulation``) that the readings are about. Two files are written, with a
JSON object in each line:

- ``pairs.jsonl.xz``: a conversation that breaks a rule of the policy and its twin that keeps it.
  Messages without ``only`` are in both. The answers of tools are left out: replaying the calls
  gives them. Where a customer says what the task tells them, the place of it in the task stands
  instead (``{{/user_scenario/...}}``), because those words are the original's.
- ``readings.jsonl.xz``: who failed in public conversations, which are named by the ids of
  their simulations, as somebody read them.
"""

import difflib
import gzip
import json
import lzma
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "maseval" / "benchmark" / "tau2" / "review" / "judged"
SCENES = [(domain, part) for domain in ("telecom", "banking_knowledge") for part in (1, 2, 3, 4)]
DOMAINS = ("airline", "retail", "telecom", "banking_knowledge")
# Rules that are asked about a call, and are about a statement.
STATEMENTS = ("retail.amount.reported",)
_WORDS_OF_TASK = 4
_SENTENCE = 25


def main(checkout: str, *conversations: str) -> None:
    sys.path.insert(0, checkout)
    pairs = [*of_styles(), *of_scenes(), *of_replies(), *of_breaches()]
    write("pairs", pairs)
    write("readings", list(of_readings(Path(checkout), conversations)))


def write(name: str, lines: list[dict[str, Any]]) -> None:
    text = "".join(json.dumps(each, ensure_ascii=False) + "\n" for each in lines)
    packed = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
    (FOLDER / f"{name}.jsonl.xz").write_bytes(packed)
    print(f"{name}: {len(lines)} lines, {len(text):,} characters, {len(packed):,} bytes packed")


def module(name: str) -> Any:
    return import_module(f"tests.benchmark.tau2.compliance.{name}")


def of_styles() -> Iterator[dict[str, Any]]:
    """Pairs in the ways of speaking of many writers."""
    styles, outcomes = module("styles"), module("outcomes")
    for number, name in enumerate(styles.SETS, 1):
        for pair in styles.pairs(name):
            task = outcomes._task(pair.domain, pair.rule)
            yield packed(f"styles {number}", pair, task, pair.clean, pair.breach)


def of_scenes() -> Iterator[dict[str, Any]]:
    scenes = module("scenes")
    for domain, part in SCENES:
        tasks = scenes.tasks_of(domain)
        for scene in scenes.scenes(domain, part):
            yield from of_scene(f"scenes {part}", scene, tasks)


def of_scene(name: str, scene: Any, tasks: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The two sides of a scene, as its own test plays them."""
    scenes, sides = module("scenes"), {}
    told: list[tuple[Any, list[Any]]] = []

    def keep(domain: str, task: Any, steps: list[Any], **_: Any) -> None:
        told.append((task, list(steps)))

    original, scenes.compliance_of = scenes.compliance_of, keep
    try:
        for breach in (False, True):
            scene.check(tasks, breach=breach)
            sides[breach] = told[-1]
    finally:
        scenes.compliance_of = original
    (task, kept), (other, broken) = sides[False], sides[True]
    # A breach that lies in the records with which the task begins is no pair of conversations.
    if json.dumps(task, sort_keys=True) == json.dumps(other, sort_keys=True):
        yield packed(name, scene, task, kept, broken)


def of_replies() -> Iterator[dict[str, Any]]:
    """A yes and a no to the same offer."""
    replies, scenes = module("test_replies"), module("scenes")
    tasks = scenes.tasks_of("telecom")
    for name in ("first", "second"):
        path = Path(replies.__file__).with_name(f"replies_{name}.txt")
        said: dict[str, dict[str, list[str]]] = {}
        for line in path.read_text(encoding="utf-8").splitlines():
            style, meant, reply = line.split(" | ", 2)
            said.setdefault(style, {}).setdefault(meant, []).append(reply)
        for style, both in said.items():
            for yes, no in zip(both.get("Y", ()), both.get("N", ()), strict=False):
                lines = (*replies.OFFER, f"+ U {yes}", f"- U {no}", "> refuel 2", "A Added.")
                scene = scenes.Scene("telecom", style, "data", "telecom.refuel.yes", lines)
                yield from of_scene(f"replies {name}", scene, tasks)


def of_breaches() -> Iterator[dict[str, Any]]:
    """Reference solutions as conversations, and each with one breach written into it."""
    breaches, tests, styles = module("breaches"), module("test_breaches"), module("styles")
    for domain in DOMAINS:
        for case in breaches.cases(domain):
            if not case["rule"]:
                continue
            task = breaches.staged(case, tests.tasks(domain)[case["task"]])
            solo = case.get("solo", False)
            kept = breaches.base(domain, task, solo=solo)
            broken = breaches.edited(case, task, kept)
            if tests.rules_broken(domain, task, kept, solo=solo):
                continue  # its reference solution breaks a rule itself
            pair = styles.Pair(domain, case["rule"], "written", [], [])
            yield packed("written", pair, task, kept, broken, solo=solo)


def packed(
    name: str, pair: Any, task: Mapping[str, Any], kept: Any, broken: Any, *, solo: bool = False
) -> dict[str, Any]:
    """Return a pair as one line: what both sides share, and what only one of them has."""
    release = "1.0.1" if pair.domain == "banking_knowledge" else "0.2.0"
    told = task_texts(task)
    one, two = ([json.dumps(plain(each, told)) for each in side] for side in (kept, broken))
    messages: list[dict[str, Any]] = []
    first = None
    for kind, a, b, c, d in difflib.SequenceMatcher(None, one, two, autojunk=False).get_opcodes():
        if kind == "equal":
            messages += [json.loads(each) for each in two[c:d]]
            continue
        first = place(broken, c, solo) if first is None else first
        messages += [{**json.loads(each), "only": "kept"} for each in one[a:b]]
        messages += [{**json.loads(each), "only": "broken"} for each in two[c:d]]
    assert first is not None, (name, pair.rule, pair.style)
    at = found_at(pair, task, broken, release, solo)
    last = place(broken, len(broken), solo) - 1
    found: dict[str, Any] = {"set": name, "domain": pair.domain, "release": release}
    found |= {"task": task["id"], "style": pair.style, "rule": pair.rule}
    found |= {"weight": weight(pair.domain, pair.rule), "message": min(first, last)}
    found |= {"until": max(min(first, last), last if at is None else at)}
    if solo:
        found["solo"] = True
    return {**found, "messages": messages}


def plain(step: Any, told: Mapping[str, str]) -> dict[str, Any]:
    """Return a step as a message, without words of the task."""
    if hasattr(step, "text"):
        return {"role": step.role, "content": without_texts(step.text, told)}
    arguments = {
        key: without_texts(value, told) if isinstance(value, str) else value
        for key, value in step.arguments.items()
    }
    return {"role": step.role, "call": step.name, "arguments": arguments}


def task_texts(task: Mapping[str, Any]) -> dict[str, str]:
    """Return the sentences of a task, the longest first, with their places."""
    found: dict[str, str] = {}

    def walk(value: Any, at: str) -> None:
        if isinstance(value, str):
            if len(value) >= _SENTENCE and value.count(" ") >= _WORDS_OF_TASK:
                found.setdefault(value, at)
        elif isinstance(value, Mapping):
            for key, each in value.items():
                walk(each, f"{at}/{key}")
        elif isinstance(value, list):
            for key, each in enumerate(value):
                walk(each, f"{at}/{key}")

    for part in ("user_scenario", "evaluation_criteria", "ticket"):
        walk(task.get(part), f"/{part}")
    return dict(sorted(found.items(), key=lambda each: -len(each[0])))


def without_texts(text: str, told: Mapping[str, str]) -> str:
    for sentence, at in told.items():
        text = text.replace(sentence, f"{{{{{at}}}}}")
    return text


def place(steps: Any, number: int, solo: bool) -> int:
    """Return the index of the message with which a step begins; calls have an answer each."""
    return (0 if solo else 1) + sum(1 if hasattr(each, "text") else 2 for each in steps[:number])


def found_at(pair: Any, task: Any, steps: Any, release: str, solo: bool) -> int | None:
    """Return the message at which the rules found the breach; None where they did not."""
    talk = module("gold_talk")
    version = release if pair.domain == "banking_knowledge" else None
    result = talk.compliance_of(pair.domain, task, steps, version=version, solo=solo)
    places = [e.message for e in result.findings if e.rule == pair.rule and e.is_breach]
    return places[-1] if places else None


def weight(domain: str, name: str) -> str:
    """Return the weight of a rule's breach: an act, a statement, or only a matter of manner."""
    rules = import_module("maseval.benchmark.tau2.domains").DOMAINS[domain].rules
    rule = next(each for each in rules if each.id == name)
    if rule.weight != "state":
        return "manner"
    is_statement = (rule.is_about_talk and rule.reads_words) or name in STATEMENTS
    return "statement" if is_statement or ".told." in name else "act"


def of_readings(checkout: Path, conversations: Sequence[str]) -> Iterator[dict[str, Any]]:
    folder = checkout / "tests" / "benchmark" / "tau2" / "readings"
    ids: dict[str, str] = {}
    for path in conversations:
        with gzip.open(path, "rt", encoding="utf-8") as file:
            every = map(json.loads, file)
            ids |= {each["id"]: each["simulation"]["id"] for each in every}
    for name in ("readings", "earlier"):
        for line in (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines():
            read = json.loads(line)
            if read["kind"] == "failure" and read["who"] != "nobody":
                found = {"set": name, "simulation": ids[read["id"]], "task": read["task"]}
                found |= {"domain": re.sub("-workflow$", "", read["domain"])}
                yield {**found, "who": read["who"], "also": read.get("also") or []}


if __name__ == "__main__":
    main(*sys.argv[1:])
