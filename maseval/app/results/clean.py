"""Clean passes: simulations that passed and in which no rule of the policy was found broken.

A benchmark that has its policy as rules checks a simulation against them (``PolicyCheck``). The
number of clean passes stands beside the official one and never replaces it.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from maseval.app.results.sound import trials_of_all
from maseval.core.outcome import Outcome, SimulationLine
from maseval.core.words import count_of, excerpt
from maseval.runs import Simulation
from maseval.stats import Estimate, summarise

What = Literal["broken", "tried", "demanded", "form", "cannot tell", "rule failed"]
"""``tried``: the tool refused the call. ``demanded``: the reference solution does the same."""

MEANINGS: Mapping[What, str] = {
    "broken": "broken",
    "tried": "tried, and refused by the tool",
    "demanded": "broken as the reference solution demands",
    "form": "a matter of form",
    "cannot tell": "cannot be told",
    "rule failed": "not checked, because the rule failed",
}

Metric = Literal["pass", "clean", "sound"]
"""The passes as the benchmark counts them, only those that are clean, or those of sound tasks."""
LABELS: Mapping[bool | None, str] = {
    True: "policy: kept",
    False: "policy: broken",
    None: "policy: cannot be told",
}
CLEAN = "clean passes: no breach of the policy found"
IF_BROKEN = "if all that cannot be told is broken"
SURELY_CLEAN = f"clean passes, {IF_BROKEN}"
_LONGEST_CALL = 120


@dataclass(frozen=True)
class PolicyFinding:
    """An answer of one rule about one simulation."""

    rule: str
    kind: str
    what: What
    text: str
    message_index: int | None = None
    call: str | None = None
    values: Mapping[str, object] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        where = "" if self.message_index is None else f"message {self.message_index}: "
        about = "" if self.call is None else f"; {excerpt(self.call, _LONGEST_CALL)}"
        how = "" if self.what == "broken" else f" ({MEANINGS[self.what]})"
        return f"{where}{self.text}{how}{about} [{self.rule}]"


@dataclass(frozen=True)
class PolicyCheck:
    """The answers of all rules about one simulation.

    ``clean`` is False if one of substance was broken, and None if that cannot be told.
    ``obstacle`` says why no rule could be asked. ``state_only`` marks a scripted agent, which does
    not talk: no rule about words and form was asked.
    """

    clean: bool | None
    findings: tuple[PolicyFinding, ...] = ()
    obstacle: str | None = None
    state_only: bool = False

    def lines(self) -> list[str]:
        """Return what was found in sentences, breaches first; rules that say the same share one."""
        order = list(MEANINGS)
        alike: dict[PolicyFinding, list[str]] = {}
        for each in sorted(self.findings, key=lambda each: order.index(each.what)):
            alike.setdefault(replace(each, rule="", kind="", values={}), []).append(each.rule)
        told = (str(replace(each, rule=", ".join(rules))) for each, rules in alike.items())
        return [*filter(None, [self.obstacle]), *told]

    @property
    def name(self) -> str:
        """The result in short, by which simulations can be filtered."""
        return LABELS[self.clean]

    def to_dict(self) -> dict[str, Any]:
        """Return the check as JSON values."""
        return asdict(self)


def count_clean(passes: Sequence[bool | None]) -> str:
    """Say how many of so many passes are clean."""
    number = Counter(passes)
    told = f"passed {len(passes)}: clean {number[True]}, broken {number[False]}"
    return f"{told}, cannot be told {number[None]}" if number[None] else told


@dataclass(frozen=True)
class CleanScore:
    """The passes of a domain, or of all, sorted by whether the policy was kept.

    ``pass_hat`` is the official number, ``clean`` counts only passes in which nothing was found
    broken, and ``surely_clean`` only those of them about which every rule could be answered.
    """

    name: str
    passed: int
    clean_passes: int
    broken_passes: int
    untold_passes: int
    pass_hat: Mapping[int, Estimate]
    clean: Mapping[int, Estimate]
    surely_clean: Mapping[int, Estimate]

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as JSON values."""
        counts = ("name", "passed", "clean_passes", "broken_passes", "untold_passes")
        numbers = {
            "pass^{}": self.pass_hat,
            "clean pass^{}": self.clean,
            "surely clean pass^{}": self.surely_clean,
        }
        return {
            **{name: getattr(self, name) for name in counts},
            **{
                name.format(k): each.in_brief()
                for name, found in numbers.items()
                for k, each in found.items()
            },
        }

    @property
    def counts(self) -> str:
        """The number of passes that are clean, in words."""
        return count_clean(
            [True] * self.clean_passes + [False] * self.broken_passes + [None] * self.untold_passes
        )


def clean_rows(scores: Sequence[CleanScore], tasks: int, planned: int) -> list[dict[str, Any]]:
    """Return the rows of clean passes over all domains, in the form of the HTML report."""
    overall = scores[-1]
    rows = {CLEAN: overall.clean}
    if overall.untold_passes:
        rows[SURELY_CLEAN] = overall.surely_clean
    return [
        {
            "name": name,
            "tasks": tasks,
            "simulations": planned,
            **{
                f"pass^{k}": each.in_brief() for k, each in values.items() if each.value is not None
            },
        }
        for name, values in rows.items()
    ]


def clean_note(scores: Sequence[CleanScore]) -> str:
    """Explain these rows."""
    return (
        f"Policy, checked by rules: {scores[-1].counts}. Clean passes stand beside the official "
        "number and never replace it."
    )


@dataclass(frozen=True)
class RuleCount:
    """The number of passes, and of all simulations, in which a rule came to one kind of answer."""

    rule: str
    kind: str
    what: What
    passes: int
    simulations: int


@dataclass(frozen=True)
class RunCompliance:
    """The policy check of every simulation of a run, and the numbers that follow from it.

    ``passes`` are the simulations that passed as the benchmark counts.
    """

    found: Mapping[Simulation, PolicyCheck]
    scores: Sequence[CleanScore]
    rules: Sequence[RuleCount]
    passes: AbstractSet[Simulation] = frozenset()

    @property
    def obstacles(self) -> list[str]:
        """The reasons why simulations could not be checked, each once."""
        return [*dict.fromkeys(each.obstacle for each in self.found.values() if each.obstacle)]

    @property
    def reservation(self) -> str | None:
        """Say that rules were not asked because a script played the agent; None if all were."""
        number = sum(each.state_only for each in self.found.values())
        if not number:
            return None
        return (
            f"a script, which does not talk, played the agent in {count_of(number, 'simulation')}: "
            "only rules about the state were asked"
        )

    def to_dict(self) -> dict[str, Any]:
        """Return all of it as JSON values."""
        return {
            "scores": [each.to_dict() for each in self.scores],
            "rules": [asdict(each) for each in self.rules],
            "simulations": [
                {**one._asdict(), "passed": one in self.passes, **each.to_dict()}
                for one, each in self.found.items()
            ],
        }


def run_compliance(
    lines: Sequence[SimulationLine],
    planned: Iterable[Simulation],
    found: Mapping[Simulation, PolicyCheck],
) -> RunCompliance:
    """Count clean passes, from every simulation's line and check."""
    planned = trials_of_all(planned)
    own = [(one, line) for line in lines if (one := Simulation(*line[:3])) in planned]
    official = [line.to_outcome() for _, line in own]
    told = [found[one].clean if one in found else None for one, _ in own]
    passes = {one for (one, _), each in zip(own, official, strict=True) if each.passed}
    clean, surely = (
        [
            each if is_clean else clean_outcome(each, is_clean, untold=untold)
            for each, is_clean in zip(official, told, strict=True)
        ]
        for untold in (True, False)
    )
    # Most passes are clean, and what is the same is counted once.
    counts = [tuple(each.passed for each in every) for every in (official, clean, surely)]
    counted = {
        verdicts: summarise(every, planned=planned, pass_at=False).groups
        for verdicts, every in dict(zip(counts, (official, clean, surely), strict=True)).items()
    }
    groups = zip(*map(counted.__getitem__, counts), strict=True)
    scores = []
    for all_of, clean_of, surely_of in groups:
        mine = [one for one in passes if all_of.group in (None, one.domain)]
        number = Counter(found[one].clean if one in found else None for one in mine)
        estimates = (
            {each.k: each for each in group.estimates if each.measure == "pass^k"}
            for group in (all_of, clean_of, surely_of)
        )
        scores.append(
            CleanScore(
                *(all_of.group or "all", len(mine)),
                *(number[True], number[False], number[None]),
                *estimates,
            )
        )
    return RunCompliance(found, scores, _count_rules(found, passes), passes)


def scores_by_label(
    lines: Sequence[tuple[SimulationLine, Sequence[str]]], planned: Iterable[Simulation]
) -> Sequence[CleanScore]:
    """Count clean passes by the labels of simulations; empty until every pass has been checked."""
    known = {label: clean for clean, label in LABELS.items()}
    found = {
        Simulation(*line[:3]): PolicyCheck(known[label])
        for line, labels in lines
        for label in labels
        if label in known
    }
    passes = [Simulation(*line[:3]) for line, _ in lines if line.passed] if found else []
    if not passes or not all(one in found for one in passes):
        return ()
    return run_compliance([line for line, _ in lines], planned, found).scores


def clean_outcome(outcome: Outcome, clean: bool | None, *, untold: bool = True) -> Outcome:
    """Return an outcome in which a pass counts only if it is clean.

    ``untold`` is what a pass counts as if that cannot be told.
    """
    if not outcome.passed:
        return outcome
    return Outcome(
        *(outcome.group, outcome.task, outcome.trial),
        untold if clean is None else clean,
        outcome.cost,
    )


def _count_rules(
    found: Mapping[Simulation, PolicyCheck], passes: set[Simulation]
) -> list[RuleCount]:
    """Count each simulation once for a rule, however often it broke it."""
    every: Counter[tuple[str, str, What]] = Counter()
    passing: Counter[tuple[str, str, What]] = Counter()
    for one, check in found.items():
        keys = {(each.rule, each.kind, each.what) for each in check.findings}
        every.update(keys)
        passing.update(keys if one in passes else ())
    order = list(MEANINGS)
    ranked = sorted(every, key=lambda key: (order.index(key[2]), -every[key], key[0]))
    return [RuleCount(*key, passing[key], every[key]) for key in ranked]
