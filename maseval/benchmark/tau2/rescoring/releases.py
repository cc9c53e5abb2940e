"""score_under: score a record under each of several releases, and count the changed verdicts."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Literal, NamedTuple

from maseval.benchmark.tau2.domains.releases import AnyVersion, release_named
from maseval.benchmark.tau2.rescoring.record import RecordSource, SimulationRecord, open_record
from maseval.benchmark.tau2.rescoring.rescore import RescoredRecord
from maseval.benchmark.tau2.scoring.judge import RememberingJudge
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import Simulation
from maseval.core.scoring_options import ScoringOptions

Direction = Literal["same", "up", "down", "open"]
"""``open``: a judge decides, and there was none."""
OpenUnder = Callable[[str], SimulationRecord]
"""Opens the same record again, to be judged under the release of that name."""


class VerdictChange(NamedTuple):
    """A simulation under the first release and under a later one.

    ``before`` and ``after`` are whether it passes, None if a judge decides. ``asks_judge`` if the
    later release asks one about it.
    """

    trial: Simulation
    before: bool | None
    after: bool | None
    asks_judge: bool = False

    @property
    def direction(self) -> Direction:
        if self.before == self.after:
            return "same"
        if self.before is None or self.after is None:
            return "open"
        return "up" if self.after else "down"

    def to_dict(self) -> dict[str, object]:
        rest = self._asdict()
        return {**rest.pop("trial")._asdict(), "direction": self.direction, **rest}


@dataclass(frozen=True)
class ReleaseTotals:
    """Counts of the verdicts that change from one release to another.

    ``open`` are those that a judge decides: if it says yes each time, ``up_if_met`` go up, and if
    it says no each time, ``down_if_not_met`` go down. ``asks_judge`` counts all that the release
    asks a judge about.
    """

    simulations: int
    same: int
    up: int
    down: int
    open: int
    up_if_met: int
    down_if_not_met: int
    asks_judge: int

    @classmethod
    def of(cls, changes: Sequence[VerdictChange]) -> "ReleaseTotals":
        """Count all simulations of a record."""
        ways = Counter(each.direction for each in changes)
        waiting = [each for each in changes if each.after is None]
        return cls(
            simulations=len(changes),
            **{way: ways[way] for way in ("same", "up", "down", "open")},
            up_if_met=ways["up"] + sum(each.before is False for each in waiting),
            down_if_not_met=ways["down"] + sum(each.before is True for each in waiting),
            asks_judge=sum(each.asks_judge for each in changes),
        )

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


@dataclass
class ScoredUnder:
    """A record under several releases.

    ``recounts`` has the numbers of each release, ``every`` what becomes of each simulation under
    each later release in comparison with the first.
    """

    recounts: Mapping[str, RescoredRecord]
    every: Mapping[str, list[VerdictChange]]

    @property
    def first(self) -> str:
        """The release that the others are compared with."""
        return next(iter(self.recounts))

    def changes(self, version: str) -> list[VerdictChange]:
        """The simulations whose verdict is another under a release, or depends on a judge."""
        return [each for each in self.every[version] if each.direction != "same"]

    @property
    def totals(self) -> dict[str, ReleaseTotals]:
        return {name: ReleaseTotals.of(changes) for name, changes in self.every.items()}


def score_under(
    source: RecordSource | OpenUnder,
    versions: Sequence[AnyVersion],
    *,
    options: ScoringOptions | None = None,
    judge: RememberingJudge | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> ScoredUnder:
    """Judge the same conversations under several releases; the first is what changes are from.

    Args:
        source: A results file, or simulations or reports; a run's reports may be opened anew for
            each release by a function that takes its name.
        versions: Releases, such as ``0.2.0``, ``1.0.1`` and ``1.0.1+tasks.0.2.0``.
        options: How simulations are scored. Releases that can replay leniently do unless
            ``strict``.
        judge: The judge of natural-language assertions.
        on_progress: Gets how many simulations are done.
    """
    names = list(dict.fromkeys(release_named(version).name for version in versions))
    if len(names) < 2:
        raise ConfigurationError(
            f"{', '.join(names) or 'no release'} alone changes nothing; name two releases or more, "
            "such as 0.2.0,1.0.1"
        )
    if callable(source):
        wholes = {name: source(name) for name in names}
    else:
        once = [*source] if isinstance(source, Iterator) else source
        wholes = {name: open_record(once, version=name) for name in names}
    recounts = {name: RescoredRecord(each, options, judge=judge) for name, each in wholes.items()}
    found = ScoredUnder(recounts, {name: [] for name in names[1:]})
    for number, items in enumerate(zip(*(w.items for w in wholes.values()), strict=True), 1):
        first, *later = (
            recount.judge(item)[0] for item, recount in zip(items, recounts.values(), strict=True)
        )
        for changes, now in zip(found.every.values(), later, strict=True):
            before, after = (None if each.open else each.passed for each in (first, now))
            changes.append(VerdictChange(now.slot, before, after, now.asks_judge))
        if on_progress is not None:
            on_progress(number)
    return found
