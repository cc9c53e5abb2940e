"""The smallest set of tool calls that would flip a verdict, found by really playing them.

The changes considered are: leave a recorded write out, or make a write of the reference solution
that was not made. Sets are tried by size, so the first that works is a smallest one. What the
agent should have said is not a tool call and is reported separately.
"""

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.review.explain.scored_case import ScoredCase
from maseval.benchmark.tau2.review.explain.tracing import recorded_calls
from maseval.benchmark.tau2.world.setting import gold_state
from maseval.benchmark.tau2.world.tasks import Action, RewardType
from maseval.benchmark.tau2.world.world import World

# Each trial plays all writes in a new world, and the number of sets doubles with every call.
MOST_TRIALS = 32
_NOT_ENOUGH = "there may be a smaller set: {} trials were not enough to rule it out"

Needed = Set[str]
Placement = Literal["end", "start", "instead"]


@dataclass(frozen=True)
class CallChange:
    """A recorded call to leave out, or an action of the reference solution to add."""

    kind: Literal["leave out", "add"]
    call: Tau2ToolCall
    message_index: int | None = None
    action_id: str | None = None


@dataclass(frozen=True)
class Repair:
    """A set of changes that flips what tool calls decide; ``changes`` is None if none was found.

    ``smallest`` says that every smaller set of such changes was tried and did not. ``placement``
    says where the added calls stand: after all recorded writes, before them, or instead of the
    first one left out.
    """

    changes: tuple[CallChange, ...] | None
    smallest: bool
    tried: int
    note: str = ""
    placement: Placement = "end"

    @property
    def only_adds(self) -> bool:
        """True if no recorded call has to be left out."""
        return bool(self.changes) and all(c.kind == "add" for c in self.changes or ())


class RepairSearch:
    def __init__(self, subject: ScoredCase) -> None:
        self.case = subject.case
        self.setting = self.case.setting
        self.tried = 0
        self._known: dict[tuple[tuple[int, ...], tuple[str, ...]], Placement | None] = {}
        self._gates = {kind for kind in RewardType if subject.case.counts(kind)}
        every = list(recorded_calls(self.case.messages))
        self.reads = [call for _, call in every if not self.setting.may_write(call)]
        self.writes = [each for each in every if self.setting.may_write(each.call)]
        self.missing = list(self._missing())

    # Where actions count by themselves, one that only reads may be missing as well.
    def _missing(self) -> Iterator[Action]:
        left = [call for _, call in self.writes]
        for action in self.case.task.actions:
            wanted = self._call(action)
            if RewardType.ACTION not in self._gates and not self.setting.may_write(wanted):
                continue
            key = wanted["name"], wanted["arguments"]
            made = (n for n, call in enumerate(left) if (call["name"], call["arguments"]) == key)
            at = next(made, None)
            if at is None:
                yield action
            else:
                # A recorded call makes up for one action only, and not for every equal one.
                del left[at]

    # An agent that works alone makes the user's calls too.
    def _call(self, action: Action) -> Tau2ToolCall:
        call = action.call()
        return {**call, "requestor": "assistant"} if self.setting.solo else call

    def place(self, dropped: Sequence[int] = (), added: Sequence[Action] = ()) -> Placement | None:
        """Return where the added calls must stand for the end state to be right, or None.

        None if it is not right wherever they stand.
        """
        key = (tuple(dropped), tuple(action.action_id for action in added))
        if key not in self._known:
            self._known[key] = self._place(dropped, added)
        return self._known[key]

    def _place(self, dropped: Sequence[int], added: Sequence[Action]) -> Placement | None:
        kept = len(self.writes) - len(dropped)
        # A write may change what later ones find, so that the same calls work in one place only.
        places: list[Placement] = ["end", "start"] if added and kept else ["end"]
        # The place of the first omitted call is worth a trial if it is neither the start nor the
        # end.
        if added and kept and 0 < min(dropped, default=0) < kept:
            places.append("instead")
        return next((each for each in places if self._passes(dropped, added, each)), None)

    def _passes(self, dropped: Sequence[int], added: Sequence[Action], place: Placement) -> bool:
        self.tried += 1
        kept = [call for number, (_, call) in enumerate(self.writes) if number not in dropped]
        at = {"end": len(kept), "start": 0, "instead": min(dropped, default=0)}[place]
        calls = [*kept[:at], *map(self._call, added), *kept[at:]]
        # Actions are compared one by one, so what was only read counts as well.
        if RewardType.ACTION in self._gates:
            made = [*self.reads, *calls]
            if not all(any(map(each.matches, made)) for each in self.case.task.actions):
                return False
        world = self.case.stage.world()
        for call in calls:
            world.make(call)
        return self._state_is_right(world)

    def _state_is_right(self, world: World) -> bool:
        counts = RewardType.DB in self._gates
        if counts and not world.same_state(gold_state(self.setting).world):
            return False
        if RewardType.ENV_ASSERTION in self._gates:
            try:
                return all(
                    world.check(e.model_dump()) for e in self.case.criteria.env_assertions or ()
                )
            except Exception:  # a task's function in a world it did not foresee
                return False
        return True

    def search(self, suspects: Iterable[int] = (), needed: Iterable[Needed] = ()) -> Repair:
        """Return the smallest set of changes that makes a failed conversation pass.

        First any set that works is found and thinned out, then all smaller ones are tried.
        ``suspects`` are the writes to doubt first. Each of ``needed`` names actions of which at
        least one must be added; sets without it need no trial.
        """
        if not self.writes and not self.missing:
            return Repair(None, True, 0, "no write was made, and none is missing")
        musts = list(needed)
        found = self._first(sorted({*suspects}), musts)
        everything: list[int | Action] = [*range(len(self.writes)), *self.missing]
        most = len(found) if found else len(everything) + 1
        for chosen in _by_size(everything, most, musts):
            if self.tried >= MOST_TRIALS and found is None:
                return Repair(None, False, self.tried, f"none was found in {self.tried} trials")
            if self.tried >= MOST_TRIALS and found is not None:
                return self._repair(found, smallest=False, note=_NOT_ENOUGH.format(self.tried))
            if self.place(*_split_changes(chosen)):
                return self._repair(chosen, smallest=True)
        if found:
            return self._repair(found, smallest=True)
        return Repair(None, True, self.tried, "no set of such changes leads there")

    def _first(self, suspects: list[int], needed: Sequence[Needed]) -> list[int | Action] | None:
        # Any set that works limits the size of those that are still to be tried.
        guesses = [suspects, list(range(len(self.writes)))]
        for dropped in guesses if guesses[0] != guesses[1] else guesses[:1]:
            chosen: list[int | Action] = [*dropped, *self.missing]
            if chosen and self.place(*_split_changes(chosen)):
                return self._thin_out(chosen, needed)
        return None

    def _thin_out(self, chosen: list[int | Action], needed: Sequence[Needed]) -> list[int | Action]:
        for each in list(chosen):
            fewer = [other for other in chosen if other is not each]
            worth_it = fewer and _has(fewer, needed) and self.tried < MOST_TRIALS
            if worth_it and self.place(*_split_changes(fewer)):
                chosen = fewer
        return chosen

    def _repair(self, chosen: Sequence[int | Action], *, smallest: bool, note: str = "") -> Repair:
        dropped, added = _split_changes(chosen)
        placement = self.place(dropped, added) or "end"
        return Repair(self._changes(dropped, added), smallest, self.tried, note, placement)

    def breaking(self) -> Repair:
        """Return one recorded write without which a passed conversation would have failed."""
        for number in range(len(self.writes)):
            if self.tried >= MOST_TRIALS:
                return Repair(None, False, self.tried, f"none found within {self.tried} trials")
            if not self.place([number]):
                return Repair(self._changes([number], []), True, self.tried)
        return Repair(None, True, self.tried, "no single recorded write decides the verdict")

    def _changes(self, dropped: Sequence[int], added: Sequence[Action]) -> tuple[CallChange, ...]:
        left_out = (
            CallChange("leave out", call, message_index=position)
            for position, call in (self.writes[number] for number in sorted(dropped))
        )
        extra = (
            CallChange("add", self._call(action), action_id=action.action_id) for action in added
        )
        return (*left_out, *extra)


def _by_size(
    everything: Sequence[int | Action], most: int, needed: Sequence[Needed]
) -> Iterator[Sequence[int | Action]]:
    for size in range(1, most):
        for chosen in combinations(everything, size):
            # A set without these cannot work, and a trial is expensive.
            if _has(chosen, needed):
                yield chosen


def _has(chosen: Sequence[int | Action], needed: Sequence[Needed]) -> bool:
    ids = {each.action_id for each in chosen if isinstance(each, Action)}
    return all(ids & some for some in needed)


def _split_changes(chosen: Sequence[int | Action]) -> tuple[list[int], list[Action]]:
    dropped = [each for each in chosen if isinstance(each, int)]
    return dropped, [each for each in chosen if isinstance(each, Action)]
