"""The findings about simulations: whether a verdict holds, why it is one, and who kept the rules.

``ExaminedRun`` finds them out when they are asked for, and keeps them in the cache folder
(``maseval.data.kept``): by the content of the record, and by the version of all that decides them,
which the benchmark knows; what stands in their way is kept by the configuration of the run. So
every command and page finds them out once.
"""

import hashlib
import json
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from itertools import repeat
from typing import Any, Literal, NamedTuple

from maseval.app.benchmarks import (
    BenchmarkSupport,
    Diagnosis,
    OnProgress,
    RunDiagnosis,
    Section,
    support_for,
)
from maseval.app.results.clean import PolicyCheck, PolicyFinding, RunCompliance, run_compliance
from maseval.app.results.recomputed import RecomputedRun
from maseval.app.results.sound import SoundCheck
from maseval.app.results.user_faults import UserCheck, UserFinding
from maseval.core.exceptions import MASEvalError
from maseval.core.outcome import RecordedReport, SimulationLine
from maseval.core.report import Report
from maseval.core.storage.files import part_size
from maseval.core.words import text_or_none
from maseval.data.kept import KeptValues, place_for
from maseval.report.conversation import conversation
from maseval.runs import Simulation
from maseval.runs.config_file import LOG
from maseval.runs.recording import Recording
from maseval.runs.verdict_check import (
    Misstatement,
    RunCheck,
    VerdictCheck,
    VerdictChecker,
    doubt_in,
)
from maseval.stats.failure_labels import Label, misfit_label, summarise_labels

FindingPart = Literal[
    "line", "verdict", "diagnosis", "policy", "sound", "user", "calls", "timeline"
]
LINE: tuple[FindingPart, ...] = ("line",)
VERDICT: tuple[FindingPart, ...] = (*LINE, "verdict")
REASONS: tuple[FindingPart, ...] = ("diagnosis", "policy", "sound", "user")
CALLS: tuple[FindingPart, ...] = ("calls",)
# Found together with the rest, because that needs the same worlds; too long to be kept.
TIMELINE: tuple[FindingPart, ...] = ("timeline",)
FILE = "findings.jsonl"


class SimulationFindings(NamedTuple):
    """The findings about a simulation, as far as they were asked for.

    ``verdict`` says how the recorded verdict differs from the recomputed one; there are no reasons
    for one that does not hold. ``obstacle`` says why it could not be recomputed. ``calls`` counts
    the calls of each tool, and those that failed.
    """

    line: SimulationLine | None = None
    verdict: Misstatement | None = None
    diagnosis: Diagnosis | None = None
    policy: PolicyCheck | None = None
    sound: SoundCheck | None = None
    user: UserCheck | None = None
    calls: Mapping[str, Sequence[int]] | None = None
    timeline: Mapping[str, object] | None = None
    obstacle: str | None = None

    @property
    def model_user(self) -> UserCheck | None:
        """The check of the user, unless a script played it."""
        return None if self.user is None or self.user.is_scripted else self.user


class ExaminedRun:
    """The findings about each simulation of a run or results file; for any number of threads."""

    def __init__(self, folder: Recording) -> None:
        self.folder, self.support = folder, support_for(folder)
        log = folder.path / LOG
        file = log if log.is_file() else folder.path
        self._kept = KeptValues(place_for(file, FILE), self.support.findings_version(folder))
        self._alike: dict[tuple[str, ...], dict[str, Any]] = {}

    def obstacle(self, question: Literal["explanation_obstacle", "verdict_obstacle"]) -> str | None:
        """Return why the run cannot be explained, or its verdicts not be recomputed, here."""
        domains = sorted({one.domain for one in self.folder.planned})
        asked = json.dumps([question, self.folder.config.values, domains], default=str)
        key = hashlib.sha256(asked.encode()).hexdigest()
        known = self._kept.get(key)
        if known is None:
            known = {"obstacle": getattr(self.support, question)(self.folder)}
            self._kept.put(key, known)
        return text_or_none(known.get("obstacle"))

    def begin_check(self) -> RunCheck | None:
        """Begin to check the recorded verdicts; return None if the benchmark recomputes none.

        Nothing that is recorded is shown of a results file, so that there is nothing to check.
        """
        if not (self.folder.path / LOG).is_file() or not self.support.answers("verdict_checker"):
            return None
        return RunCheck(self.folder, self.obstacle("verdict_obstacle"))

    @cached_property
    def _checker(self) -> VerdictChecker | None:
        return self.support.verdict_checker(self.folder)

    def examine(
        self,
        one: Simulation,
        parts: Sequence[FindingPart],
        report: Report | None = None,
        key: str | None = None,
    ) -> SimulationFindings:
        """Return these parts of the findings; ``report`` and its ``key`` if they are at hand."""
        return self._take(self._look_up(one, parts, key), one, parts, report, None)

    def examine_all(
        self, simulations: Sequence[Simulation], parts: Sequence[FindingPart]
    ) -> Iterator[SimulationFindings]:
        """Yield the findings on simulations, in order; all cores find what a large log lacks."""
        known = {one: self._look_up(one, parts) for one in simulations}
        lacking = [one for one, each in known.items() if not each.is_complete]
        with closing(self._find_elsewhere(lacking, parts)) as elsewhere:
            new: dict[Simulation, _New | None] = {}
            for one in simulations:
                if one not in new and not known[one].is_complete:
                    new |= next(elsewhere, {})
                yield self._take(known.pop(one), one, parts, None, new.pop(one, None))

    def _find_elsewhere(
        self, lacking: Sequence[Simulation], parts: Sequence[FindingPart]
    ) -> Generator[Mapping[Simulation, "_New | None"], None, None]:
        """Yield what other processes find, some simulations at a time; nothing for small logs.

        They are forks: a record that is open, and what its benchmark needs, cannot be sent. The
        first simulation of each domain is examined here, so that what it loads is loaded once.
        None stands for what raised an error there, and raises it here.
        """
        log, size = self.folder.path / LOG, 0
        if lacking and log.is_file():
            size = log.stat().st_size * len(lacking) // len(self.folder.recorded)
        if part_size(size, 1) >= size:
            return
        from maseval.core.engine.processes import (  # most records are small
            ProcessEngine,
            may_fork,
            usable_cores,
        )

        if (cores := usable_cores()) < 2 or not may_fork():
            return
        step = max(1, len(lacking) * part_size(size, cores) // size)

        def find(some: Sequence[Simulation]) -> list[_New]:
            return [self._find_lacking(self._look_up(one, parts), one, parts) for one in some]

        here = [*{one.domain: one for one in reversed(lacking)}.values()]
        yield dict(zip(here, find(here), strict=True))
        rest = [one for one in lacking if one not in here]
        some = (rest[first : first + step] for first in range(0, len(rest), step))
        with closing(ProcessEngine(cores).mapped(find, some)) as mapped:
            for batch in mapped:
                yield dict(zip(batch.values, batch.result or repeat(None), strict=False))

    def _look_up(
        self, one: Simulation, parts: Sequence[FindingPart], key: str | None = None
    ) -> "_Known":
        if not self._kept.is_open:
            key = None
        elif key is None:
            key = self.folder.content_key(one)
        known = {} if key is None else self._kept.get(key) or {}
        try:
            found: dict[str, Any] = {
                part: _READERS[part](known[part]) for part in parts if part in known
            }
        except (KeyError, TypeError, ValueError, IndexError):  # whole, but of other fields
            found = known = {}
        return _Known(key, known, found, bool(found.get("verdict")) or len(found) == len(parts))

    def _take(
        self,
        known: "_Known",
        one: Simulation,
        parts: Sequence[FindingPart],
        report: Report | None,
        ready: "_New | None",
    ) -> SimulationFindings:
        if known.is_complete:
            return SimulationFindings(**known.found)
        new, obstacle = ready or self._find_lacking(known, one, parts, report)
        kept = {part: each for part, each in new.items() if part not in TIMELINE}
        if known.key is not None and kept:
            self._kept.put(known.key, {**known.values, **kept})
        read = {part: _READERS[part](new[part]) for part in parts if part in new}
        return SimulationFindings(**known.found | read, obstacle=obstacle)

    def _find_lacking(
        self,
        known: "_Known",
        one: Simulation,
        parts: Sequence[FindingPart],
        report: Report | None = None,
    ) -> "_New":
        lacking = [part for part in (*parts, *_needs(parts)) if part not in known.values]
        return self._find(lacking, known.values, report or self.folder.report(one))

    def _find(
        self, parts: Sequence[FindingPart], known: Mapping[str, Any], report: Report
    ) -> "_New":
        """Return parts that are not ``known`` in plain form, and why there is no verdict."""
        line = {"line": RecordedReport(report).line} if "line" in parts else {}
        likeness = self.support.likeness(report)
        key = None if likeness is None else (likeness, *parts)
        if key is not None and key in self._alike:
            return {**line, **self._alike[key]}, None
        new, obstacle = self._find_out(parts, known, report)
        if key is not None and obstacle is None and new.get("verdict") is None:
            self._alike[key] = new
        return {**line, **new}, obstacle

    def _find_out(
        self, parts: Sequence[FindingPart], known: Mapping[str, Any], report: Report
    ) -> tuple[dict[str, Any], str | None]:
        """Return what can be the same for several simulations, as ``_find`` does."""
        new: dict[str, Any] = {}
        support, obstacle = self.support, None
        if "calls" in parts:
            new["calls"] = _count_calls(report)
        if "verdict" in parts and self._checker is not None:
            try:
                new["verdict"] = self._checker(report)
            except MASEvalError as error:
                obstacle = str(error)
            if new.get("verdict") is not None:
                return new, None
        if "timeline" in parts:
            new["timeline"] = support.timeline_form(report)
        if (doubt := doubt_in(report)) is not None and doubt.is_misfit:
            failed = RecordedReport(report).kind != "pass"
            unknown: dict[str, Any] = dict.fromkeys(part for part in parts if part in REASONS)
            label = _plain(Diagnosis(misfit_label(doubt.text))) if failed else None
            return {**new, **unknown, "diagnosis": label}, obstacle
        if "diagnosis" in parts:
            new["diagnosis"] = _plain(support.diagnosis(report))
        if "policy" in parts:
            new["policy"] = _plain(support.policy_check(report))
        if "sound" in parts:
            new["sound"] = _plain(support.sound_check(report))
        if "user" in parts:
            reason = _read_diagnosis({**known, **new}["diagnosis"])
            new["user"] = _plain(support.user_check(report, reason))
        return new, obstacle

    def save(self) -> None:
        """Keep what was found, where that is possible."""
        self._kept.save()


class _Known(NamedTuple):
    """The kept part of a simulation: in plain form, with the pieces that are asked for."""

    key: str | None
    values: Mapping[str, Any]
    found: dict[str, Any]
    is_complete: bool


_New = tuple[dict[str, Any], str | None]


def _needs(parts: Sequence[FindingPart]) -> Sequence[FindingPart]:
    """Return what else must be known for these parts: a failure may be a fault of the user."""
    return ("diagnosis",) if "user" in parts and "diagnosis" not in parts else ()


def _count_calls(report: Report) -> dict[str, list[int]]:
    counts: dict[str, list[int]] = {}
    for message in conversation(RecordedReport(report)):
        for call in message.get("calls", ()):
            count = counts.setdefault(call["name"], [0, 0])
            count[0] += 1
            count[1] += bool(call["result"] and call["result"]["failed"])
    return counts


def _plain(found: Diagnosis | PolicyCheck | SoundCheck | UserCheck | None) -> dict[str, Any] | None:
    return None if found is None else asdict(found)


def _read_diagnosis(form: Any) -> Diagnosis | None:
    if form is None:
        return None
    label, explained = Label(**form["label"]), [Section(*each) for each in form["explained"]]
    label = replace(label, evidence=tuple(label.evidence))
    return Diagnosis(**{**form, "label": label, "explained": explained})


def _read_policy(form: Any) -> PolicyCheck | None:
    if form is None:
        return None
    return PolicyCheck(**{**form, "findings": tuple(PolicyFinding(**f) for f in form["findings"])})


def _read_user(form: Any) -> UserCheck | None:
    if form is None:
        return None
    return UserCheck(**{**form, "findings": tuple(UserFinding(**f) for f in form["findings"])})


_READERS: Mapping[str, Callable[[Any], Any]] = {
    "line": lambda form: SimulationLine(*form),
    "verdict": lambda form: None if form is None else Misstatement(*form),
    "diagnosis": _read_diagnosis,
    "policy": _read_policy,
    "sound": lambda form: None if form is None else SoundCheck(**form),
    "user": _read_user,
    "calls": lambda form: form,
    "timeline": lambda form: form,
}


@dataclass(frozen=True)
class RunFindings:
    """The findings about all simulations of a run, and what they come to.

    ``folder`` has the verdicts that hold, and ``check`` compares the recorded ones with these;
    ``unexplained`` says why there are no reasons, if they were asked for. None are things that the
    benchmark does not have.
    """

    folder: Recording
    lines: Sequence[SimulationLine]
    check: VerdictCheck | None = None
    unexplained: str | None = None
    diagnosis: RunDiagnosis | None = None
    compliance: RunCompliance | None = None
    sound: Mapping[Simulation, SoundCheck] | None = None
    users: Mapping[Simulation, UserCheck] = field(default_factory=dict)
    timelines: Mapping[Simulation, Mapping[str, object]] = field(default_factory=dict)


def examine_run(
    folder: Recording,
    reasons: Sequence[FindingPart] = REASONS,
    on_progress: OnProgress | None = None,
    *,
    timelines: bool = False,
) -> RunFindings:
    """Check the verdicts of a run, and find the reasons that are asked for, in one pass.

    ``timelines`` asks for those of all simulations as well.
    """
    run = ExaminedRun(folder)
    support, checking = run.support, run.begin_check()
    unexplained = run.obstacle("explanation_obstacle") if reasons else None
    wanted = (*LINE, *(() if unexplained else reasons), *(TIMELINE if timelines else ()))
    found: dict[Simulation, SimulationFindings] = {}
    ordered = simulations_in_order(folder)
    checks = checking is not None and checking.obstacle is None
    every = run.examine_all(ordered, (*VERDICT, *wanted[1:]) if checks else wanted)
    for number, (one, each) in enumerate(zip(ordered, every, strict=True), 1):
        found[one] = each
        if checks and checking is not None and each.line is not None:
            checking.add(each.line, each.verdict, each.obstacle)
        if on_progress is not None:
            on_progress(number, len(ordered))
    run.save()
    check = None if checking is None else checking.finish()
    if check is not None and check.differing:
        folder = RecomputedRun(folder, check)
        run = ExaminedRun(folder)
        found |= {one: run.examine(one, wanted) for one in check.differing}
    return _put_together(support, folder, check, unexplained, wanted, found)


def _put_together(
    support: BenchmarkSupport,
    folder: Recording,
    check: VerdictCheck | None,
    unexplained: str | None,
    wanted: Sequence[FindingPart],
    found: Mapping[Simulation, SimulationFindings],
) -> RunFindings:
    lines = [each.line for each in found.values() if each.line is not None]
    diagnosis = compliance = sound = None
    if "diagnosis" in wanted and support.answers("diagnosis"):
        reasons = {one: each.diagnosis for one, each in found.items()}
        labels = summarise_labels(None if r is None else r.label for r in reasons.values())
        diagnosis = RunDiagnosis(reasons, labels)
    policy = {one: each.policy for one, each in found.items() if each.policy is not None}
    if policy:
        compliance = run_compliance(lines, folder.planned, policy)
    if "sound" in wanted and support.answers("sound_check"):
        sound = {one: each.sound for one, each in found.items() if each.sound is not None}
    users = {one: user for one, each in found.items() if (user := each.model_user)}
    timelines = {one: each.timeline for one, each in found.items() if each.timeline}
    return RunFindings(
        folder, lines, check, unexplained, diagnosis, compliance, sound, users, timelines
    )


def simulations_in_order(folder: Recording) -> list[Simulation]:
    """Return the recorded simulations: as planned, then those that are no longer planned."""
    recorded = dict.fromkeys(folder.recorded)
    planned = [one for one in folder.planned if one in recorded]
    return [*planned, *sorted(recorded.keys() - set(planned))]


def check_verdicts(folder: Recording) -> VerdictCheck | None:
    """Check the recorded verdicts of a run; None if its benchmark recomputes none."""
    return examine_run(folder, ()).check


def recompute_verdicts(folder: Recording) -> tuple[Recording, VerdictCheck | None]:
    """Return a run with the verdicts that hold, and the check of those that are recorded."""
    found = examine_run(folder, ())
    return found.folder, found.check
