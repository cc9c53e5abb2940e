"""Findings about what a record has of its plan: missing, repeated, odd or foreign simulations."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache

from maseval.benchmark.tau2.rescoring.record import BY_FORM, MALFORMED, smallest_split
from maseval.benchmark.tau2.rescoring.record_finding import (
    record_finding,
    share_of,
    some_of,
)
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import (
    FOREIGN_TASK,
    NEEDS_JUDGE,
    RescoredSimulation,
)
from maseval.benchmark.tau2.texts.original import trial_seed
from maseval.core.figures import percent
from maseval.core.finding import Finding
from maseval.core.words import count_of


def missing_simulations(found: RescoredRecord) -> Iterator[Finding]:
    """Yield findings for planned simulations, and tasks of the split, that are missing."""
    left_out = set(found.tasks_left_out)
    missing = [slot for slot in found.missing if slot.task_id not in left_out]
    if missing:
        tasks = dict.fromkeys(slot.task_id for slot in missing)
        yield record_finding(
            "missing simulations",
            f"{len(missing)} of {len(found.slots)} planned simulations are not there "
            f"({count_of(len(tasks), 'task')}: {some_of(tasks)}); they have no verdict",
        )
    if left_out and found.split is not None:
        name, ids = found.split
        yield record_finding(
            "missing tasks",
            f"{len(left_out)} of the {len(ids)} tasks of the {name} split are not there: "
            f"{some_of(found.tasks_left_out)}; their simulations have no verdict",
            "--partial certifies the listed tasks alone",
        )


def repeated_trials(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if trials are recorded more than once."""
    twice = [slot for slot, several in found.by_slot.items() if len(several) > 1]
    if twice:
        yield record_finding(
            "repeated trials",
            f"{count_of(len(twice), 'trial')} more than once in the file "
            f"({some_of(map(str, twice))}); "
            "each passes only if all its simulations do",
        )


def lost_simulations(found: RescoredRecord) -> Iterator[Finding]:
    """Yield findings for parts of the file that cannot be read, and for runs that broke off."""
    lines = found.record.malformed
    if lines:
        yield record_finding(
            "unreadable simulations",
            f"{count_of(len(lines), 'part')} of the file {MALFORMED} (the first: {lines[0]}); what "
            "is lost has no verdict",
        )
    for problem, number in found.problems.items():
        if problem not in (MALFORMED, FOREIGN_TASK, NEEDS_JUDGE):
            yield record_finding(
                "unfinished simulations",
                f"{number} of {len(found.slots)} simulations did not finish ({problem})",
                weight="manner",
            )


def foreign_seeds(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a finding if seeds of trials do not follow from the seed of the run."""
    known = [each for each in found.simulations if each.identity.seed is not None]
    seed = found.record.seed
    if seed is None:
        by_trial: dict[int, Counter[int | None]] = defaultdict(Counter)
        for each in known:
            by_trial[each.slot.trial][each.identity.seed] += 1
        mixed = [trial for trial, seeds in by_trial.items() if len(seeds) > 1]
        if mixed and found.record.has_plan:
            yield record_finding(
                "mixed seeds",
                f"simulations of trial {some_of(map(str, mixed))} have different seeds, though "
                "all tasks of a trial share one: they may come from several runs",
                weight="remark",
            )
        return
    foreign = [each for each in known if each.identity.seed != _seed(seed, each.slot.trial)]
    if foreign:
        first = foreign[0]
        yield record_finding(
            "foreign seeds",
            f"{share_of(foreign, found)} have a seed that does not follow from the run's {seed} "
            f"(the first: {first.slot} has {first.identity.seed}, not "
            f"{_seed(seed, first.slot.trial)}): they may come from another run",
            # The seeds of later releases were not compared with files of the original.
            weight="remark" if found.record.version_from == BY_FORM else "state",
        )


_seed = lru_cache(maxsize=4096)(trial_seed)


def unlisted_tasks(found: RescoredRecord) -> Iterator[Finding]:
    """Yield a caution with the range of the number if the record is about a part of a split."""
    if found.split is not None or not found.record.has_plan:
        return
    for name, domain in found.domains.items():
        known = found.known_tasks(domain)
        listed = {slot.task_id for slot in found.slots if slot.domain == name}
        ours = [task_id for task_id in listed if known.raw(task_id) is not None]
        split = smallest_split(domain, ours, version=known.version) if ours else None
        absent = [] if split is None else [each for each in split[1] if each not in listed]
        if split is None or not absent:
            continue
        outcomes = [each for each in found.outcomes if each.group == name]
        value, whole = found.summarise(outcomes).estimate("pass^k", 1).value, len(split[1])
        words = ""
        if value is not None:
            low, high = (value * len(ours) / whole, (value * len(ours) + len(absent)) / whole)
            words = (
                f"; over the whole split, pass^1 is {percent(low)} if all of them fail, "
                f"{percent(high)} if all pass"
            )
        yield record_finding(
            "part of a split",
            f"{len(absent)} of the {whole} tasks of {name}'s {split[0]} split are not there: "
            f"{some_of(absent)}{words}",
            weight="remark",
        )


def odd_simulations(found: RescoredRecord) -> Iterator[Finding]:
    """Yield cautions for ids or times that simulations share, and for what cannot have happened."""
    for name in ("id", "times", "response ids"):
        first: dict[str, RescoredSimulation] = {}
        marked = [each for each in found.simulations if name in each.identity.marks]
        again = [
            each for each in marked if first.setdefault(each.identity.marks[name], each) is not each
        ]
        if again:
            original = first[again[0].identity.marks[name]]
            yield record_finding(
                f"repeated {name}",
                f"{share_of(again, found)} have the {name} of another (the first: "
                f"{again[0].identity.where} has that of {original.identity.where}); all of them "
                "count",
                weight="remark",
            )
    odd: dict[str, list[tuple[RescoredSimulation, str]]] = defaultdict(list)
    for each in found.simulations:
        for kind, text in each.identity.oddities:
            odd[kind].append((each, text))
    for kind, several in odd.items():
        one, text = several[0]
        share = share_of([each for each, _ in several], found)
        yield record_finding(kind, f"in {share} (the first: {one.slot}: {text})", weight="remark")
