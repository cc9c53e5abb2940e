"""The configuration of a run, in a form that can be compared with another.

Two keys say what to run: ``tasks`` (the task ids of each domain) and ``trials``. ``prices`` notes
what the models cost when the run was started, ``own_prices`` what a file said of that, ``command``
how it was started, and ``cache`` that answers could come from one. ``stopped`` is noted when a run
ends because its question, ``until``, is answered. ``code`` has the hashes of all files of one's own
and the versions of the distributions that they import; it changes only on demand, and every report
says under which code it was made. ``cell`` has the level of each factor of the grid that the run is
a cell of, in the grid's order. All other keys are settings, which the simulations of the run
share; ``subset`` among them marks a run of chosen tasks, whose numbers are estimates.
"""

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import MOST_SIMULATIONS, Simulation, TaskKey
from maseval.core.perturbation import mark_of_perturbation
from maseval.core.recorded import mapping
from maseval.core.task import ChosenSubset, Task
from maseval.core.task.queues import SUBSET

CODE = "code"
# Keyed or filled by names of domains, tasks and files, among which nothing is a secret.
_NAMES = frozenset({"tasks", "domains", "data", CODE})
# Prices change from day to day, a command can be typed in many ways, and no result with them.
UNTIL, STOPPED, CELL = "until", "stopped", "cell"
DEFAULTS = "defaults"
# Earlier releases did not note all of it: it must agree where both runs have it.
_WHERE_BOTH = ("data", DEFAULTS)
JUDGED_BY = "judged_by"
"""The judge of a run where it is another than the benchmark's own: part of the number's name."""
_NOTES = frozenset({"prices", "own_prices", "command", "cache", CELL, STOPPED, JUDGED_BY})


def task_ids(tasks: Iterable[Task]) -> dict[str, list[str]]:
    """Return the ids of each domain's tasks: the ``tasks`` of a run's configuration."""
    ids: dict[str, list[str]] = {}
    for task in tasks:
        domain, task_id = TaskKey.of(task)
        ids.setdefault(domain, []).append(task_id)
    return ids


def subset_config(subset: ChosenSubset | None) -> dict[str, object]:
    """Return the ``subset`` of a run's configuration; nothing for a run of all tasks.

    The number of chosen tasks is that of ``tasks``, to which some may be added.
    """
    if subset is None:
        return {}
    return {SUBSET: {key: value for key, value in subset.to_dict().items() if key != "chosen"}}


def subset_of(config: Mapping[str, object]) -> ChosenSubset | None:
    """Return the mark of a run of chosen tasks, from its configuration."""
    tasks = config.get("tasks")
    chosen = sum(map(len, tasks.values())) if isinstance(tasks, dict) else None
    return ChosenSubset.read(config, chosen)


_PLAYERS = ("function", "model", "model_id", "player")


def names_of_side(given: object) -> list[str]:
    """Return what plays the agent or the user: a function, a model, or a script."""
    if not isinstance(given, Mapping):
        return [str(given)] if given else []
    return [str(given[kind]) for kind in _PLAYERS if given.get(kind)]


def mark_of(config: Mapping[str, object]) -> str | None:
    """Return what lists of runs say beside a number that is no score of a run of a fixed size."""
    marks = (
        *(subset_of(config), stopped_of(config), config.get(JUDGED_BY)),
        mark_of_perturbation(config),
    )
    return ", ".join(str(mark) for mark in marks if mark) or None


def cell_of(config: Mapping[str, object]) -> dict[str, str]:
    """Return the level of each factor, by name, of a run that is a cell of a grid; else nothing."""
    return {name: str(level) for name, level in mapping(config, CELL).items()}


@dataclass(frozen=True)
class StoppedRun:
    """The end of a run whose question was answered; ``values`` are those of the configuration."""

    values: Mapping[str, Any]

    @property
    def note(self) -> str:
        """A sentence that must stand beside the numbers of the run."""
        left = self.values.get("not_run")
        saved = f"; {left} planned simulations were not run" if left else ""
        return f"{self._how}: {self.values.get('reason')}{saved}."

    @property
    def _how(self) -> str:
        return "Stopped early" if self.values.get("not_run") else "Sequential design"

    def __str__(self) -> str:
        return f"{self._how.lower()}: {self.values.get('outcome')}"


def stopped_of(config: Mapping[str, object]) -> StoppedRun | None:
    """Return how a run ended by its own rule, from its configuration; None if it did not."""
    found = config.get(STOPPED)
    return StoppedRun(found) if isinstance(found, dict) else None


@dataclass(frozen=True)
class RunConfig:
    """A run's configuration, without its secrets."""

    values: dict[str, Any]

    @classmethod
    def of(
        cls,
        config: Mapping[str, object],
        clean: Callable[[Mapping[str, object]], Mapping[str, object]] = dict,
    ) -> "RunConfig":
        """Return the configuration as it will be stored; names of tasks and domains stay.

        Raises for values that JSON cannot hold.
        """
        names = {key: config[key] for key in config if key in _NAMES}
        try:
            # Read back: tuples and the like are to be what a reader will find.
            values = json.loads(_canonical({**clean(config), **names}))
        except (TypeError, ValueError) as error:
            raise ConfigurationError(
                f"the run's configuration cannot be stored as JSON ({error}); "
                "give strings, numbers, lists and dicts"
            ) from None
        _check_plan(values)
        if cell := cell_of(values):  # the order of its factors is part of it
            values[CELL] = {name: cell[name] for name in mapping(config, CELL)}
        return cls(values)

    @cached_property
    def sha256(self) -> str:
        """Equal for equal configurations, whatever the order of their keys."""
        return hashlib.sha256(_canonical(self.values).encode()).hexdigest()

    @cached_property
    def planned(self) -> dict[Simulation, None]:
        """Every simulation of the run, trial by trial; a dict for its order.

        Those that a run without further question leaves out are not among them.
        """
        tasks: dict[str, list[str]] = self.values["tasks"]
        return {
            Simulation(domain, task_id, trial): None
            for domain, ids in tasks.items()
            for task_id in ids
            for trial in range(self._trials)
        }

    @property
    def _trials(self) -> int:
        trials: int = self.values["trials"]
        run = trials if self.stopped is None else self.stopped.values.get("trials", trials)
        return min(trials, run) if isinstance(run, int) else trials

    @property
    def stopped(self) -> "StoppedRun | None":
        """The end of the run before all its planned trials were run, by its own rule."""
        return stopped_of(self.values)

    @property
    def is_unanswered(self) -> bool:
        """True if the run waits for the answer to its question, and has none yet."""
        return UNTIL in self.values and self.stopped is None

    def stopping(self, stopped: Mapping[str, object] | None) -> "RunConfig":
        """Return the configuration with another end of the run, or without one."""
        return self._with(STOPPED, None if stopped is None else dict(stopped))

    @property
    def subset(self) -> ChosenSubset | None:
        """The mark of a run of chosen tasks, whose numbers are estimates; else None."""
        return subset_of(self.values)

    @cached_property
    def code_version(self) -> str | None:
        """A name for the state of one's own code; None if there is none, or it is not recorded."""
        code = _versions(self.values)
        return hashlib.sha256(_canonical(code).encode()).hexdigest()[:12] if code else None

    def _with(self, key: str, value: object) -> "RunConfig":
        others = {name: part for name, part in self.values.items() if name != key}
        return RunConfig(others if value is None else {**others, key: value})

    def with_code_of(self, other: "RunConfig") -> "RunConfig":
        return self._with(CODE, other.values.get(CODE))

    def with_cell_of(self, other: "RunConfig") -> "RunConfig":
        """Return this configuration as that of another's cell, if that is one."""
        return self._with(CELL, cell) if (cell := cell_of(other.values)) else self

    def after(self, other: "RunConfig") -> "RunConfig":
        """Return this configuration for a run with simulations of another's code: both judge."""
        code, parts = mapping(self.values, CODE), mapping(other.values, CODE, "parts")
        both = {
            name: " ".join(dict.fromkeys(f"{parts.get(name, part)} {part}".split()))
            for name, part in mapping(code, "parts").items()
        }
        return self._with(CODE, {**code, "parts": both}) if both else self

    def extends(self, other: "RunConfig") -> bool:
        """Return whether this plans all that ``other`` plans, with its settings and code."""
        same = self.same_settings(other) and self.code_version == other.code_version
        return same and self.planned.keys() >= other.planned.keys()

    def same_settings(self, other: "RunConfig") -> bool:
        """Return whether simulations of one run are valid in the other.

        Fingerprints of data, by domain, file and task, and defaults of the benchmark's class must
        agree where both have one.
        """
        agree = all(_agree(self.values.get(k, {}), other.values.get(k, {})) for k in _WHERE_BOTH)
        return agree and _canonical(_settings(self.values)) == _canonical(_settings(other.values))

    def differences(self, new: "RunConfig") -> list[str]:
        """List the changes in ``new`` as ``path.of.key: old -> new``, and the changed files."""
        old, other = (_without_code(config.without_notes()) for config in (self, new))
        return [*_differences(old, other, ()), *self.changed_code(new)]

    def changed_code(self, new: "RunConfig") -> list[str]:
        """Name the files and distributions that are others in ``new``."""
        before, after = _versions(self.values), _versions(new.values)
        if not before and after:
            return ["code: not recorded by the release that began the run"]
        changes = []
        for name in sorted(before | after):
            old, other = before.get(name), after.get(name)
            if old is None or other is None:
                changes.append(f"{name}: {'no longer imported, or not there' if old else 'new'}")
            elif old != other:
                versions = f"{old} -> {other}" if old.startswith("version ") else "changed"
                changes.append(f"{name}: {versions}")
        return changes

    def without_notes(self) -> dict[str, Any]:
        """Return everything but what results do not depend on."""
        return {key: value for key, value in self.values.items() if key not in _NOTES}


def _versions(values: Mapping[str, object]) -> dict[str, str]:
    """Return the state of each file of the code, and of each distribution."""
    code = mapping(values, CODE)
    return {
        **{name: str(digest) for name, digest in mapping(code, "files").items()},
        **{name: f"version {version}" for name, version in mapping(code, "distributions").items()},
    }


def _without_code(
    values: Mapping[str, object], names: Collection[str] = (CODE, "source_sha256")
) -> dict[str, object]:
    """Leave out the code, and the hashes of the files that were named of earlier releases."""
    inner = {"own_domains": ("sha256",)}
    return {
        key: _without_code(value, inner.get(key, names)) if isinstance(value, dict) else value
        for key, value in values.items()
        if key not in names
    }


def _agree(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_agree(one[name], other[name]) for name in one.keys() & other.keys())
    return one == other


def _canonical(values: object) -> str:
    # One spelling for each configuration, as hashes of it are compared.
    return json.dumps(values, sort_keys=True, separators=(",", ":"), allow_nan=False)


def _settings(values: Mapping[str, object]) -> dict[str, object]:
    left_out = _NAMES | _NOTES | {"trials", DEFAULTS}
    return _without_code({key: value for key, value in values.items() if key not in left_out})


def _check_plan(values: Mapping[str, object]) -> None:
    tasks, trials = values.get("tasks"), values.get("trials")
    if not isinstance(tasks, dict) or not all(
        isinstance(ids, list)
        and len({task_id for task_id in ids if isinstance(task_id, str)}) == len(ids)
        for ids in tasks.values()
    ):
        raise ConfigurationError(
            f"the configuration's 'tasks' is {_brief(tasks)}; give the task ids of each domain, "
            "which task_ids(tasks) lists"
        )
    if not isinstance(trials, int) or isinstance(trials, bool) or trials < 1:
        raise ConfigurationError(f"the configuration's 'trials' is {trials!r}; give at least 1")
    check_size(trials * sum(map(len, tasks.values())))
    if SUBSET in values and subset_of(values) is None:
        raise ConfigurationError(
            f"the configuration's {SUBSET!r} is {_brief(values[SUBSET])}; give what "
            "subset_config(queue.subset) returns"
        )


def check_size(simulations: int) -> None:
    """Raise if a run would be larger than any record that is read."""
    if simulations > MOST_SIMULATIONS:
        raise ConfigurationError(
            f"a run of {simulations:,} simulations or more is too large: {MOST_SIMULATIONS:,} is "
            "the most; split it into several runs, by tasks or by trials"
        )


_ABSENT = object()


def _differences(old: object, new: object, path: tuple[str, ...]) -> Iterator[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted(old.keys() | new.keys()):
            before, after = old.get(key, _ABSENT), new.get(key, _ABSENT)
            yield from _differences(before, after, (*path, key))
    elif _ABSENT in (old, new) or _canonical(old) != _canonical(new):
        yield f"{'.'.join(path)}: {_change(old, new)}"


def _change(old: object, new: object) -> str:
    if not (isinstance(old, list) and isinstance(new, list)):
        return f"{_brief(old)} -> {_brief(new)}"
    gone, added = [one for one in old if one not in new], [one for one in new if one not in old]
    if not gone and not added:
        return "the same in another order"
    parts = [f"without {_brief(gone)}"] * bool(gone) + [f"with {_brief(added)}"] * bool(added)
    return f"{len(old)} -> {len(new)}, {', '.join(parts)}"


def _brief(value: object) -> str:
    if value is _ABSENT:
        return "(not set)"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 120 else f"{text[:117]}..."
