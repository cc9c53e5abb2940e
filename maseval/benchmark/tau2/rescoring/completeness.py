"""Causes in what a record has of its plan: missing, repeated, copied or foreign simulations."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import lru_cache

from maseval.benchmark.tau2.rescoring.cause import Cause, share_of, some_of
from maseval.benchmark.tau2.rescoring.record import BY_FORM, MALFORMED, smallest_split
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.rescoring.suspicion import near_copies
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK, NEEDS_JUDGE
from maseval.benchmark.tau2.texts.original import trial_seed
from maseval.core.figures import percent
from maseval.core.words import count_of


def missing_simulations(found: RescoredRecord) -> Iterator[Cause]:
    """Yield causes for planned simulations, and tasks of the split, that are missing."""
    left_out = set(found.tasks_left_out)
    missing = [slot for slot in found.missing if slot.task_id not in left_out]
    if missing:
        tasks = dict.fromkeys(slot.task_id for slot in missing)
        yield Cause(
            "missing simulations",
            f"{len(missing)} of {len(found.slots)} planned simulations are not there "
            f"({count_of(len(tasks), 'task')}: {some_of(tasks)}); they have no verdict",
        )
    if left_out and found.split is not None:
        name, ids = found.split
        yield Cause(
            "missing tasks",
            f"{len(left_out)} of the {len(ids)} tasks of the {name} split are not there: "
            f"{some_of(found.tasks_left_out)}; their simulations have no verdict",
            "--partial certifies the listed tasks alone",
        )


def repeated_simulations(found: RescoredRecord) -> Iterator[Cause]:
    """Yield causes for copies of simulations, and for trials recorded more than once."""
    twice = [slot for slot, several in found.by_slot.items() if len(several) > 1]
    copies = [(each, copied) for each in found.simulations if (copied := found.copy_of(each))]
    if copies:
        copy, original = copies[0]
        yield Cause(
            "duplicated simulations",
            f"{len(copies)} of {len(found.simulations)} simulations are copies (the first: "
            f"{copy.identity.where} is {original.identity.where} again); a copy counts as a "
            "failure",
        )
    if twice:
        yield Cause(
            "repeated trials",
            f"{count_of(len(twice), 'trial')} more than once in the file "
            f"({some_of(map(str, twice))}); "
            "each passes only if all its simulations do",
        )


def lost_simulations(found: RescoredRecord) -> Iterator[Cause]:
    """Yield causes for parts of the file that cannot be read, and for runs that broke off."""
    lines = found.record.malformed
    if lines:
        yield Cause(
            "unreadable simulations",
            f"{count_of(len(lines), 'part')} of the file {MALFORMED} (the first: {lines[0]}); what "
            "is lost has no verdict",
        )
    for problem, number in found.problems.items():
        if problem not in (MALFORMED, FOREIGN_TASK, NEEDS_JUDGE):
            yield Cause(
                "unfinished simulations",
                f"{number} of {len(found.slots)} simulations did not finish ({problem})",
                fatal=False,
            )


def foreign_seeds(found: RescoredRecord) -> Iterator[Cause]:
    """Yield a cause if seeds of trials do not follow from the seed of the run."""
    known = [each for each in found.simulations if each.identity.seed is not None]
    seed = found.record.seed
    if seed is None:
        by_trial: dict[int, Counter[int | None]] = defaultdict(Counter)
        for each in known:
            by_trial[each.slot.trial][each.identity.seed] += 1
        mixed = [trial for trial, seeds in by_trial.items() if len(seeds) > 1]
        if mixed and found.record.has_plan:
            yield Cause(
                "mixed seeds",
                f"simulations of trial {some_of(map(str, mixed))} have different seeds, though "
                "all tasks of a trial share one: they may come from several runs",
                fatal=False,
                caution=True,
            )
        return
    foreign = [each for each in known if each.identity.seed != _seed(seed, each.slot.trial)]
    if foreign:
        first = foreign[0]
        yield Cause(
            "foreign seeds",
            f"{share_of(foreign, found)} have a seed that does not follow from the run's {seed} "
            f"(the first: {first.slot} has {first.identity.seed}, not "
            f"{_seed(seed, first.slot.trial)}): they may come from another run",
            # The seeds of later releases were not compared with files of the original.
            fatal=found.record.version_from != BY_FORM,
            caution=found.record.version_from == BY_FORM,
        )


_seed = lru_cache(maxsize=4096)(trial_seed)


def unlisted_tasks(found: RescoredRecord) -> Iterator[Cause]:
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
        yield Cause(
            "part of a split",
            f"{len(absent)} of the {whole} tasks of {name}'s {split[0]} split are not there: "
            f"{some_of(absent)}{words}",
            fatal=False,
            caution=True,
        )


def alike_simulations(found: RescoredRecord) -> Iterator[Cause]:
    """Yield cautions for conversations that are too much alike, or texts that are too long."""
    identities = [each.identity for each in found.simulations]
    pairs = list(near_copies(identities)) if found.has_model else []
    if pairs:
        named = (f"{copy.where} is like {original.where}" for original, copy in pairs)
        yield Cause(
            "nearly identical simulations",
            f"{len(pairs)} of {len(identities)} simulations make the same calls and say nearly the "
            f"same as another trial of their task ({some_of(named)}); a model that is sampled "
            "seldom does, an edited copy always",
            fatal=False,
            caution=True,
        )
    if overlong := [each for each in found.simulations if each.identity.overlong]:
        yield Cause(
            "texts longer than their tokens",
            f"in {share_of(overlong, found)} a message has more text than its model wrote (the "
            f"first: {overlong[0].slot}: {overlong[0].identity.overlong})",
            fatal=False,
            caution=True,
        )
    fingerprints = Counter((i.domain, i.task_id, i.fingerprint) for i in identities if i.talks)
    repeats = sum(fingerprints.values()) - len(fingerprints)
    if found.record.name is not None and found.record.scripted and not found.has_model and repeats:
        yield Cause(
            "no language model",
            f"the file names no model on either side, and {repeats} of {len(identities)} "
            "simulations repeat another trial of their task word for word: scripted players do "
            "that, and these numbers are about no model",
            fatal=False,
            caution=True,
        )
