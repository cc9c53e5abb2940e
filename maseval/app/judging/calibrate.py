"""``maseval judge calibrate``: measure a judge on conversations with known answers.

The answers of an unfinished measurement are kept in the cache folder, so that it goes on where it
was; once it is finished they go, so that the next one asks the model anew.
"""

import os
import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from maseval.app.benchmarks import BenchmarkSupport, JudgeRequest, LabelledCase, support_by_name
from maseval.app.judging.asking import (
    Asked,
    JudgeModel,
    JudgeSettings,
    OnProgress,
    Price,
    ask_all,
)
from maseval.app.results.calibrated import (
    AskedJudge,
    Calibration,
    CaseResult,
    Change,
    change_since,
    keep_calibration,
    latest_calibration,
)
from maseval.app.results.judged import question_version, short_hash, status_of
from maseval.app.results.names import open_recording
from maseval.core.exceptions import ConfigurationError, MASEvalError
from maseval.core.judge_record import Judgement, JudgeRecord
from maseval.core.recorded import mapping
from maseval.core.tracing import now
from maseval.data.files import cache_dir
from maseval.stats.result import Result

PAIRS = 60
"""How many pairs are drawn by default: with all found, the lower limit is 94 %."""

BENCHMARK = "tau2"


@dataclass(frozen=True)
class CalibratedJudge(Result):
    """The measurement of a judge; None if it is not finished, or ``price`` was asked for.

    ``change`` compares it with the latest one on the same conversations. ``unanswered`` requests
    failed and are sent again by the same command; ``notes`` say what was left out.
    """

    about: str
    judge: str
    cases: int
    calibration: Calibration | None = None
    change: Change | None = None
    unanswered: int = 0
    stopped: str | None = None
    notes: Sequence[str] = ()
    price: Price | None = None


def calibrate(
    judge: JudgeModel,
    *,
    about: str = "policy",
    pairs: int | None = PAIRS,
    domain: Sequence[str] = (),
    file: str | os.PathLike[str] | None = None,
    conversations: Sequence[str | os.PathLike[str]] = (),
    benchmark: str = BENCHMARK,
    dry_run: bool = False,
    on_progress: OnProgress | None = None,
    **settings: Any,
) -> CalibratedJudge:
    """Measure a judge on labelled conversations, and keep what came out.

    Args:
        judge: A model's id, ``FILE.py:NAME``, a model, or a function that makes one.
        about: The question: ``policy`` or ``cause``.
        pairs: How many pairs of conversations are drawn, evenly over domains and weights; None
            for all. A breach and its twin that keeps the policy are a pair.
        domain: Only these domains.
        file: A file of one's own labelled conversations instead of those of the package.
        conversations: Results files with the public conversations that readings of who failed
            are about; for ``cause``.
        benchmark: The benchmark whose question is asked.
        dry_run: Estimate what it would cost, and ask nothing.
        on_progress: Called with how many are done, and of how many.
        settings: The other fields of ``JudgeSettings``, such as ``args`` and ``budget``.
    """
    settled, support = JudgeSettings(judge, **settings), support_by_name(benchmark)
    question = support.judge_question(about)
    cases, notes = _usable(_draw(_cases(support, about, domain, file, conversations), pairs))
    model = settled.open_for_price() if dry_run else settled.open()
    who, version = model.who(question.params), question_version(question)
    judge_asked = AskedJudge(about, str(who["model"]), dict(mapping(who, "params")), version)
    name = judge_asked.name
    if dry_run:
        price = settled.estimate(question, [request for _, request in cases])
        return CalibratedJudge(about, name, len(cases), notes=notes, price=price)
    chosen = short_hash(sorted(case.id for case, _ in cases))
    # Another judge, other words of the question or other cases begin a measurement of their own.
    path = cache_dir() / "calibrating" / f"{short_hash([about, version, who, chosen])}.jsonl"
    record = JudgeRecord(path)
    asked = [Asked({"case": case.id}, _constant(request)) for case, request in cases]
    answers = ask_all(asked, question, settled, record, on_progress)
    unanswered = sum(each.unanswered for each in answers.judgements.values())
    # Half a measurement is none; what was answered is kept for the next call.
    if unanswered or answers.stopped:
        return CalibratedJudge(
            about, name, len(cases), unanswered=unanswered, stopped=answers.stopped, notes=notes
        )
    judgements = [answers.judgements[number] for number in range(len(cases))]
    results = _results([case for case, _ in cases], judgements)
    lines = record.lines()
    cost = sum(line.usage.get("cost") or 0.0 for line in lines)
    dropped = sum(len(each.dropped) for each in judgements)
    found = Calibration(
        **vars(judge_asked),
        set=chosen,
        at=now(),
        cases=results,
        dropped=dropped,
        requests=len(lines),
        cost=cost,
        seconds=round(sum(line.seconds for line in lines), 3),
    )
    before = latest_calibration(judge_asked, chosen)
    keep_calibration(found)
    # If it stays, the next measurement repeats these answers; that is no reason to fail now.
    with suppress(OSError):
        path.unlink()
    change = None if before is None else change_since(found, before)
    return CalibratedJudge(about, name, len(cases), found, change, notes=notes)


def _cases(
    support: BenchmarkSupport,
    about: str,
    domain: Sequence[str],
    file: str | os.PathLike[str] | None,
    conversations: Sequence[str | os.PathLike[str]],
) -> Sequence[LabelledCase]:
    own = None if file is None else Path(file)
    recordings = [open_recording(each) for each in conversations]
    cases = support.labelled_cases(about, domain, own, recordings)
    if cases:
        return cases
    if about == "cause" and not conversations:
        raise ConfigurationError(
            "who failed was read in public conversations, which the package must not hold: give "
            "their results files with --conversations FILE (conversations=[...])"
        )
    among = f" of domain {' or '.join(domain)}" if domain else ""
    raise ConfigurationError(f"there are no labelled conversations{among} to ask about")


def _draw(cases: Sequence[LabelledCase], pairs: int | None) -> list[LabelledCase]:
    """Draw pairs evenly over domains and weights, the same ones each time; more contain fewer."""
    if pairs is not None and pairs < 1:
        raise ConfigurationError(f"pairs is {pairs}; give at least 1")
    together: dict[str, list[LabelledCase]] = defaultdict(list)
    for case in cases:
        together[case.pair].append(case)
    strata: dict[tuple[str, str], list[list[LabelledCase]]] = defaultdict(list)
    for pair in together.values():
        strata[pair[0].group, pair[0].weight].append(pair)
    for stratum in strata.values():
        # The same order each time: more pairs contain the fewer of an earlier call.
        random.Random(0).shuffle(stratum)
    longest = max(map(len, strata.values()), default=0)
    # One pair of each stratum in turn: however many are taken, they are spread evenly.
    ordered = [e[at] for at in range(longest) for _, e in sorted(strata.items()) if at < len(e)]
    return [case for pair in ordered[:pairs] for case in pair]


def _usable(
    cases: Iterable[LabelledCase],
) -> tuple[list[tuple[LabelledCase, JudgeRequest]], list[str]]:
    """Return the cases with their requests, and which domains are left out for want of data."""
    found, missing = [], dict[str, str]()
    for case in cases:
        if case.group in missing:
            continue
        try:
            found.append((case, case.request()))
        # Data of one domain that are not here keep nobody from measuring the others.
        except MASEvalError as error:
            missing[case.group] = str(error)
    if not found and missing:
        raise ConfigurationError("; ".join(missing.values()))
    usable = [each for each in found if each[0].group not in missing]
    return usable, [f"{group} is left out: {why}" for group, why in missing.items()]


def _constant(request: JudgeRequest) -> Any:
    # A function of its own: a lambda in the loop would return the last request for all cases.
    return lambda: request


def _results(cases: Sequence[LabelledCase], judgements: Sequence[Judgement]) -> list[CaseResult]:
    found, seen = [], set[str]()
    for case, judgement in zip(cases, judgements, strict=True):
        right, exact, answer = None, None, judgement.answer or {}
        if status_of(judgement) != "undecided":
            right = case.finds(answer) is case.broken
        if right and case.broken and case.is_exact is not None:
            exact = case.is_exact(answer)
        # A conversation that stands in two pairs is one piece of evidence.
        distinct = judgement.prompt not in seen
        seen.add(judgement.prompt)
        found.append(
            CaseResult(case.id, case.group, case.weight, case.broken, right, exact, distinct)
        )
    return found
