"""score_under: every simulation of a record judged under each of several releases."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion, release_named
from maseval.benchmark.tau2.formats.simulation import TerminationReason
from maseval.benchmark.tau2.recount.panel import Panel
from maseval.benchmark.tau2.recount.recount import Recount
from maseval.benchmark.tau2.recount.sources import Certifiable, Collection, collection
from maseval.benchmark.tau2.rescoring.change import ReleaseTotals, VerdictChange
from maseval.benchmark.tau2.rescoring.standing import Standing
from maseval.core.exceptions import ConfigurationError
from maseval.core.scoring_options import ScoringOptions

OpenUnder = Callable[[str], Collection]
"""Opens the same record again, to be judged under the release of that name."""

_CHOSEN = (TerminationReason.AGENT_STOP, TerminationReason.USER_STOP)


@dataclass
class ScoredUnder:
    """A record under several releases.

    ``recounts`` has the numbers of each release, ``every`` what becomes of each simulation under
    each later release in comparison with the first.
    """

    recounts: Mapping[str, Recount]
    every: Mapping[str, list[VerdictChange]] = field(default_factory=dict)
    ended_early: int = 0

    @property
    def first(self) -> str:
        """The release that the others are compared with."""
        return next(iter(self.recounts))

    def changes(self, version: str) -> list[VerdictChange]:
        """The simulations whose verdict is another under a release, or depends on a judge."""
        return [each for each in self.every[version] if each.direction != "same"]

    @property
    def totals(self) -> dict[str, ReleaseTotals]:
        """How many change, under each release but the first."""
        return {
            name: ReleaseTotals.of(changes, self.ended_early)
            for name, changes in self.every.items()
        }


def score_under(
    source: Certifiable | OpenUnder,
    versions: Sequence[AnyVersion],
    *,
    domain: str | Domain | None = None,
    options: ScoringOptions | None = None,
    panel: Panel | None = None,
    on_progress: Callable[[int], object] | None = None,
) -> ScoredUnder:
    """Judge the same conversations under several releases; the first is what changes are from.

    Args:
        source: A results file, or simulations or reports; a run's reports may be opened anew for
            each release by a function that takes its name.
        versions: Releases, such as ``0.2.0``, ``1.0.1`` and ``1.0.1+tasks.0.2.0``.
        domain: The domain, whatever the simulations call theirs.
        options: How simulations are scored. Releases that can replay leniently do unless
            ``strict``.
        panel: The judges of natural-language assertions.
        on_progress: Gets how many simulations are done.
    """
    names = list(dict.fromkeys(release_named(version).name for version in versions))
    if len(names) < 2:
        raise ConfigurationError(
            f"{', '.join(names) or 'no release'} alone changes nothing; name two releases or more, "
            "such as 0.2.0,1.0.1"
        )
    if not callable(source):
        source = _opener(source, domain)
    wholes = {name: source(name) for name in names}
    found = ScoredUnder(
        {name: Recount(whole, options, panel=panel) for name, whole in wholes.items()},
        {name: [] for name in names[1:]},
    )
    for number, items in enumerate(zip(*(w.items for w in wholes.values()), strict=True), 1):
        first, *later = map(Standing.of, items, found.recounts.values())
        for changes, standing in zip(found.every.values(), later, strict=True):
            changes.append(VerdictChange.between(first, standing))
        found.ended_early += first.again.judged.ending not in _CHOSEN
        if on_progress is not None:
            on_progress(number)
    return found


def _opener(source: Certifiable, domain: str | Domain | None) -> OpenUnder:
    once = [*source] if isinstance(source, Iterator) else source
    return lambda version: collection(once, domain, version=version)
