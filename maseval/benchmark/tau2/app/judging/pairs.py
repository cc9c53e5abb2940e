"""The conversations that judges of tau2 are measured by: packaged ones, or a file of one's own.

``pairs.jsonl.xz`` of the package has a breach and its twin in each line. Calls stand there without
their answers, and the words of tasks are left out: both come from the benchmark's data, which is
fetched. ``readings.jsonl.xz`` says who failed in public conversations, whose results files must be
at hand. ``scripts/pack_pairs.py`` made both.

A file of one's own has a JSON object in each line: such a pair, or one conversation with its
``messages`` in the form of results files, ``domain``, ``broken`` (true or false), and if known
``pair``, ``message``, ``weight``, ``style``, ``policy`` and ``release``.
"""

import hashlib
import json
import lzma
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import JudgeRequest, LabelledCase
from maseval.benchmark.tau2.app.judging.requests import judge_request, policy_request, request_about
from maseval.benchmark.tau2.data_loader import load_domain_config, load_raw_task
from maseval.benchmark.tau2.domains.releases import release_of
from maseval.benchmark.tau2.formats.message import INITIAL_GREETING
from maseval.benchmark.tau2.results import Omitted, simulation_of
from maseval.benchmark.tau2.review import judged
from maseval.benchmark.tau2.scoring.case import open_case
from maseval.core.exceptions import ConfigurationError
from maseval.core.report import Report
from maseval.runs.recording import Recording

_FOLDER = Path(judged.__file__).parent
PAIRS, READINGS = _FOLDER / "pairs.jsonl.xz", _FOLDER / "readings.jsonl.xz"
_PLACE = re.compile(r"\{\{(/[^{}]*)\}\}")
# A breach is often shown by more than one message.
_NEAR = 2

Line = Mapping[str, Any]


def labelled_cases(
    about: str,
    domains: Collection[str] = (),
    file: Path | None = None,
    recordings: Iterable[Recording] = (),
) -> list[LabelledCase]:
    """Return the labelled conversations for a question; ``domains`` choose among them."""
    if about == "cause":
        cases = [*_cases_of_readings(recordings)]
    else:
        cases = [*_cases_in(read_lines(file or PAIRS), str(file or PAIRS.name))]
    return [each for each in cases if not domains or each.group in domains]


def read_lines(path: Path) -> list[Line]:
    """Read lines of JSON, packed or plain."""
    try:
        content = path.read_bytes()
        text = (lzma.decompress(content) if path.suffix == ".xz" else content).decode("utf-8")
        found = [json.loads(line) for line in text.split("\n") if line.strip()]
    except (OSError, ValueError, lzma.LZMAError) as error:
        raise ConfigurationError(
            f"the labelled conversations in {path} cannot be read: {error}; give a file with a "
            "JSON object in each line"
        ) from error
    return found


def _cases_in(lines: Sequence[Line], name: str) -> Iterator[LabelledCase]:
    for number, line in enumerate(lines, 1):
        try:
            yield from _cases_in_line(number, line)
        except (KeyError, TypeError, AttributeError) as error:
            raise ConfigurationError(
                f"line {number} of {name} is no labelled conversation: {type(error).__name__} "
                f"{error}; it needs domain, messages, and broken (or messages with only)"
            ) from error


def _cases_in_line(number: int, line: Line) -> Iterator[LabelledCase]:
    # A case keeps its name wherever its line stands in the file.
    name = hashlib.sha256(json.dumps(line, sort_keys=True).encode()).hexdigest()[:12]
    exact = None
    if line.get("message") is not None:
        first = int(line["message"])
        exact = partial(_finds_at, range(first - _NEAR, int(line.get("until", first)) + _NEAR + 1))
    known: dict[str, Any] = {
        "group": str(line["domain"]),
        "weight": str(line.get("weight") or "act"),
        "style": str(line.get("style") or ""),
        "is_exact": exact,
    }
    if "broken" in line:
        broken = bool(line["broken"])
        pair = str(line.get("pair", number))
        request = partial(_own_request, line, list(line["messages"]))
        labels = {"broken": broken, "request": request, "finds": _finds_any, **known}
        yield LabelledCase(name, pair, **labels)
        return
    if not any(each.get("only") for each in line["messages"]):
        raise KeyError("broken")
    for side in ("broken", "kept"):
        yield LabelledCase(
            f"{name} {side}",
            name,
            broken=side == "broken",
            request=partial(_packed_request, line, side),
            finds=_finds_any,
            **known,
        )


def _finds_at(places: range, answer: Mapping[str, Any]) -> bool:
    return any(each["message"] in places for each in answer.get("claims") or ())


def _finds_any(answer: Mapping[str, Any]) -> bool:
    return bool(answer.get("claims"))


def _own_request(line: Line, messages: list[Any]) -> JudgeRequest:
    # A file of one's own may bring a policy that no domain has.
    policy = line.get("policy")
    if policy is None:
        release = release_of(line["domain"], line.get("release"))
        domain = release.domain(line["domain"])
        policy = domain.policy(load_domain_config(domain)["db_path"].parent)
    return policy_request(messages, policy)


def _packed_request(line: Line, side: str) -> JudgeRequest:
    release = release_of(line["domain"], line["release"])
    domain = release.domain(line["domain"])
    task = load_raw_task(domain, line["task"], version=release)
    solo = bool(line.get("solo"))
    told = [each for each in line["messages"] if each.get("only") in (None, side)]
    greeting = {"role": "assistant", "content": INITIAL_GREETING}
    # The case begins without messages: the answers of its tools are made by the world, below.
    start: dict[str, Any] = {"task_id": task["id"], "messages": [], "termination_reason": ""}
    case = open_case(start, domain, task, solo=solo, version=release)
    world = case.setting.world()
    messages: list[Any] = [] if solo else [greeting]
    for number, message in enumerate(told):
        if "call" not in message:
            content = _fill_places(message["content"], task)
            messages.append({"role": message["role"], "content": content})
            continue
        call: Any = {
            "id": f"call_{number}",
            "name": message["call"],
            "arguments": _fill_places(message["arguments"], task),
            "requestor": message["role"],
        }
        messages.append({"role": message["role"], "content": None, "tool_calls": [call]})
        messages.append(world.respond(call))
    case = case._replace(recording=case.recording._replace(messages=messages))
    request = request_about(case, "policy")
    assert request is not None
    return request


def _fill_places(value: Any, task: Line) -> Any:
    if isinstance(value, Mapping):
        return {key: _fill_places(each, task) for key, each in value.items()}
    if isinstance(value, str):
        return _PLACE.sub(lambda place: str(_at(task, place[1])), value)
    return value


def _at(task: Any, place: str) -> Any:
    for step in place.split("/")[1:]:
        task = task[int(step)] if isinstance(task, list) else task[step]
    return task


def _cases_of_readings(recordings: Iterable[Recording]) -> Iterator[LabelledCase]:
    # Where a simulation was read twice, the first reading counts.
    read = {(each["simulation"], each["task"]): each for each in reversed(read_lines(READINGS))}
    for recording in recordings:
        for one in recording.recorded:
            report = recording.report(one)
            simulation = simulation_of(report)
            if isinstance(simulation, Omitted):
                continue
            # A reading counts once, however many recordings hold its simulation.
            found = read.pop((simulation.get("id"), str(one.task_id)), None)
            if found is not None:
                yield _reading(found, report)


def _reading(read: Line, report: Report) -> LabelledCase:
    parties = {read["who"], *read["also"]}

    def request() -> JudgeRequest:
        found = judge_request(report, "cause")
        if found is None:
            raise ConfigurationError(f"simulation {read['simulation']} did not fail here")
        return found

    return LabelledCase(
        read["simulation"],
        read["simulation"],
        read["domain"],
        read["who"],
        "",
        broken=True,
        request=request,
        finds=lambda answer: answer.get("first") in parties,
        is_exact=lambda answer: answer.get("first") == read["who"],
    )
