"""Findings about what the agent must say: can it be known, and is it what the tools answer?

A text is known if an answer has it. A number may also be worked out: it is looked for among the
sums, differences and counts of what the answers along the reference solution show.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from maseval.benchmark.tau2.review.audit.criteria import finding_about
from maseval.benchmark.tau2.review.audit.knowledge import Reader
from maseval.benchmark.tau2.review.audit.records import is_number
from maseval.benchmark.tau2.review.audit.subject import AuditedTask, Finding
from maseval.benchmark.tau2.world.tasks import RewardType

_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_MOST_TERMS = 10


def texts_nobody_answers(task: AuditedTask) -> Iterator[Finding]:
    """Read all that can be read, carry out the gold, and look for what must be said."""
    wanted = (task.criteria and task.criteria.communicate_info) or ()
    if not wanted or not task.counts(RewardType.COMMUNICATE):
        return
    reader = Reader(task)
    heard = reader.hear_all()
    answers = [text.lower().replace(",", "") for text in heard]
    for info in wanted:
        sought = info.lower()
        if any(_has(text, sought) for text in answers):
            continue
        number = float(sought) if _NUMBER.fullmatch(sought) else None
        if number is None:
            text = f"{info!r} is to be said, and no answer of a tool has it"
        elif sought.endswith("0") and any(_has(text, str(number)) for text in answers):
            text = f"{info!r} is to be said, and the tools answer {number}: who repeats it fails"
        elif len(sought) < 2 or _can_be_worked_out(number, heard, reader.gold_answers):
            continue
        else:
            text = (
                f"{info!r} is to be said, but it is in no answer and no sum, difference or count "
                "of what the answers along the gold show"
            )
        yield finding_about(
            task,
            "text to be told is not answered",
            "warning",
            text,
            info=info,
            tried=["every reading tool with all that is known, and the calls of the gold"],
            happened=f"{len(heard)} answers, none with {info!r}",
        )


def _has(text: str, sought: str) -> bool:
    return re.search(rf"(?<![\w.]){re.escape(sought)}(?![\w]|\.\d)", text) is not None


def _can_be_worked_out(number: float, heard: Sequence[str], gold: Sequence[str]) -> bool:
    """Look among sums, differences and counts of what belongs together in the answers."""
    target = round(number, 2)
    groups = [group for answer in dict.fromkeys(heard) for group in _groups(_parse(answer))]
    of_gold = [group for answer in gold for group in _groups(_parse(answer))]
    totals = [*(values for _, values in groups), *_join(groups), *_join(of_gold)]
    if any(target in (float(len(each)), round(abs(sum(each)), 2)) for each in totals):
        return True
    parts = (*(values for _, values in groups), *_join(of_gold))
    return any(_is_made_of(target, list(dict.fromkeys(map(abs, each)))) for each in parts)


def _join(groups: Sequence[tuple[str, list[float]]]) -> Iterator[list[float]]:
    """Yield the numbers of one name from all answers."""
    joint: dict[str, list[float]] = defaultdict(list)
    for name, values in groups:
        joint[name] += values
    yield from joint.values()


def _is_made_of(target: float, terms: Sequence[float]) -> bool:
    """Tell whether a number is a sum of some terms, or such a sum less another."""
    sums = {0.0}
    for term in terms[:_MOST_TERMS]:
        sums |= {round(each + term, 2) for each in sums}
    if target in sums:
        return True
    differences = {round(abs(first - second), 2) for first, second in combinations(terms, 2)}
    if target in differences:
        return True
    return any(round(target - each, 2) in differences for each in differences)


def _parse(answer: str) -> object:
    try:
        return json.loads(answer)
    except ValueError:
        return [float(each) for each in _NUMBER.findall(answer)]


def _groups(value: object, name: str = "") -> Iterator[tuple[str, list[float]]]:
    """Yield numbers that belong together: of one list, of fields of one name, of one record."""
    match value:
        case dict():
            own = [float(each) for each in value.values() if is_number(each)]
            if own:
                yield name, own
            by_field: dict[str, list[float]] = defaultdict(list)
            for each in value.values():
                if isinstance(each, dict):
                    _collect(each, by_field)
            yield from by_field.items()
            for key, each in value.items():
                yield from _groups(each, key)
        case list():
            numbers = [float(each) for each in value if is_number(each)]
            if numbers:
                yield name, numbers
            fields: dict[str, list[float]] = defaultdict(list)
            for each in value:
                if isinstance(each, dict):
                    _collect(each, fields)
            yield from fields.items()
            for each in value:
                yield from _groups(each, name)


def _collect(record: Mapping[str, object], fields: dict[str, list[float]]) -> None:
    """Add a record's numbers to those of their names, also by each of the record's words."""
    words = [each for each in record.values() if isinstance(each, str)]
    for key, each in record.items():
        if isinstance(each, int | float) and not isinstance(each, bool):
            for name in (key, *(f"{key} {word}" for word in words)):
                fields[name].append(float(each))
        elif each is True:
            fields[f"count {key}"].append(1.0)
