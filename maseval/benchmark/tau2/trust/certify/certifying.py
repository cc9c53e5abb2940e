"""certify: recompute every reward from the messages, and write down what came out."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from statistics import fmean
from typing import Any

from maseval.benchmark.tau2.data.files import DEFAULT_VERSION
from maseval.benchmark.tau2.data.store import AnyPath
from maseval.benchmark.tau2.data_loader import (
    UnknownTaskError,
    data_fingerprint,
    load_domain_config,
    load_raw_task,
)
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.benchmark.tau2.forms.reward import RewardInfo
from maseval.benchmark.tau2.scoring.judge import NoJudgeError
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.trust.certify.certificate import (
    FORM,
    Agreement,
    Certificate,
    Numbers,
    digest,
)
from maseval.benchmark.tau2.trust.certify.sources import Certifiable, Collection, Item, collection
from maseval.benchmark.tau2.trust.certify.suspicion import (
    Passport,
    Suspicion,
    copies,
    fingerprint,
    missing_trials,
    name_of,
    oddities,
)
from maseval.benchmark.tau2.trust.explain.findings import replay_fault
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.core.outcome import is_successful
from maseval.stats.pass_k import mean_over_tasks, named
from maseval.stats.trials import Trials, fewest_trials

_TOLERANCE = 1e-9


def certify(
    source: Certifiable,
    *,
    domain: str | Domain | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
) -> Certificate:
    """Score every simulation again and certify the numbers.

    Args:
        source: A results file (its path, or what ``read_results`` gives), or simulations or
            reports from anywhere.
        domain: The domain of simulations that do not name theirs.
        solo: The agent worked alone, where the simulations do not say so.
        data_dir: A data folder other than the cache.
    """
    whole = collection(source, domain, solo)
    run = _Certification(whole, data_dir)
    for item in whole.items:
        run.add(item)
    return run.certificate()


def verify(
    certificate: Certificate | Mapping[str, Any] | str,
    source: Certifiable,
    *,
    domain: str | Domain | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
) -> list[str]:
    """Certify ``source`` again; the parts in which the outcome differs, so none if all is well.

    A certificate that was changed itself raises a ``CertificateError``.
    """
    given = Certificate.of(certificate).to_dict()
    found = certify(source, domain=domain, solo=solo, data_dir=data_dir).to_dict()
    return [
        f"{key}: certified {given[key]!r}, found {found[key]!r}"
        for key in found
        if key not in ("source", "sha256") and given[key] != found[key]
    ]


@dataclass
class _Tally:
    """What adds up for one domain."""

    rewards: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    not_scorable: int = 0

    def numbers(self) -> Numbers:
        every = [reward for rewards in self.rewards.values() for reward in rewards]
        tasks = [Trials(len(each), sum(map(is_successful, each))) for each in self.rewards.values()]
        return {
            "simulations": len(every),
            "tasks": len(self.rewards),
            "passed": sum(map(is_successful, every)),
            "mean_reward": fmean(every),
            "pass_hat_k": {
                named("pass^k", k): mean_over_tasks(tasks, "pass^k", k)
                for k in range(1, fewest_trials(tasks) + 1)
            },
            "not_scorable": self.not_scorable,
        }


class _Certification:
    """A certificate in the making."""

    def __init__(self, whole: Collection, data_dir: AnyPath | None) -> None:
        self._whole = whole
        self._data_dir = data_dir
        self._hash = hashlib.sha256()
        self._domains: dict[str, Domain] = {}
        self._modes: set[str] = set()
        self._texts: set[str] = set()
        self._tallies: dict[str, _Tally] = defaultdict(_Tally)
        self._passports: list[Passport] = []
        self._suspicions: list[Suspicion] = []
        self._agreement: Counter[str] = Counter()

    def add(self, item: Item) -> None:
        name, simulation = item.domain.name, item.simulation
        where = name_of(name, simulation)
        self._note(item, where)
        self._suspicions += oddities(simulation, where)
        try:
            found = score_simulation(
                simulation, domain=item.domain, solo=item.solo, data_dir=self._data_dir
            )
        except NoJudgeError:
            self._whole.omitted["its verdict needs a judge"] += 1
            return
        except UnknownTaskError:
            text = f"{name} has no task {simulation.get('task_id')!r}"
            self._suspicions.append(Suspicion("unknown task", where, text))
            return
        tally = self._tallies[name]
        tally.rewards[str(simulation["task_id"])].append(found["reward"])
        self._look_at(found, item, where, tally)

    def _note(self, item: Item, where: str) -> None:
        simulation = item.simulation
        self._domains[item.domain.name] = item.domain
        self._modes |= {"lenient order ids"} if item.lenient else set()
        self._modes |= {"solo"} if item.solo else set()
        self._texts |= {item.texts} if item.texts else set()
        self._hash.update(canonical_json((where, simulation)).encode())
        self._passports.append(
            Passport(
                where,
                item.domain.name,
                str(simulation.get("task_id")),
                simulation.get("trial"),
                str(simulation.get("id") or ""),
                fingerprint(simulation),
                any(message["role"] == "user" for message in simulation["messages"]),
            )
        )

    def _look_at(self, found: RewardInfo, item: Item, where: str, tally: _Tally) -> None:
        fault = replay_fault(found)
        if fault is not None:
            tally.not_scorable += 1
            text = f"message {fault.message_index}: {fault.meaning}"
            self._suspicions.append(Suspicion("impossible answer", where, text))
        if item.recorded is None:
            self._agreement["without"] += 1
            return
        self._agreement["compared"] += 1
        reward = float(item.recorded["reward"])
        if abs(reward - found["reward"]) <= _TOLERANCE:
            self._agreement["equal"] += 1
        else:
            text = f"recorded {reward:g}, recomputed {found['reward']:g}"
            self._suspicions.append(Suspicion("reward differs", where, text))

    def certificate(self) -> Certificate:
        whole = self._whole
        suspicions = [
            *self._suspicions,
            *copies(self._passports),
            *missing_trials(self._passports, whole.num_trials),
            *self._other_tasks(),
            *self._other_policy(),
        ]
        agreement: Agreement = {
            "compared": self._agreement["compared"],
            "equal": self._agreement["equal"],
            "without_recorded_reward": self._agreement["without"],
        }
        return Certificate(
            {
                "form": FORM,
                "source": whole.name,
                "rules": {
                    "scoring": f"tau2-bench {DEFAULT_VERSION}",
                    "evaluation_type": "all",
                    "modes": sorted(self._modes),
                    **({"texts": sorted(self._texts)} if self._texts else {}),
                },
                "domains": {name: _basis(each) for name, each in sorted(self._domains.items())},
                "simulations_sha256": self._hash.hexdigest(),
                "omitted": dict(sorted(whole.omitted.items())),
                "numbers": {name: t.numbers() for name, t in sorted(self._tallies.items())},
                "agreement": agreement,
                "suspicions": [each.to_dict() for each in suspicions],
            }
        )

    def _other_tasks(self) -> Iterator[Suspicion]:
        """Tasks that the file brings along and that are not the benchmark's."""
        for name, domain in self._domains.items() if len(self._domains) == 1 else ():
            for task_id, raw in self._whole.tasks.items():
                try:
                    ours = load_raw_task(domain, task_id, self._data_dir)
                except UnknownTaskError:
                    text = f"{name} has no task {task_id!r}"
                    yield Suspicion("unknown task", f"{name} task {task_id}", text)
                    continue
                if _meaning(raw) != _meaning(ours):
                    text = "the file's task differs from the benchmark's, which was used"
                    yield Suspicion("edited task", f"{name} task {task_id}", text)

    def _other_policy(self) -> Iterator[Suspicion]:
        """A policy in the file that is not one of the domain's."""
        told = self._whole.policy
        for name, domain in self._domains.items() if told and len(self._domains) == 1 else ():
            if told not in _policies(domain, self._data_dir):
                text = "the file's policy differs from the benchmark's"
                yield Suspicion("edited policy", name, text)


def _meaning(raw: Mapping[str, Any]) -> str:
    """All of a task that scoring depends on, and what the user is told."""
    spec = TaskSpec.of(raw)
    return canonical_json((spec.gold_key, spec.model_dump(mode="json"), raw.get("user_scenario")))


def _policies(domain: Domain, data_dir: AnyPath | None) -> list[str]:
    folder = load_domain_config(domain, data_dir)["db_path"].parent
    modes: Iterable[bool] = (False,) if domain.solo_refusal else (False, True)
    return [domain.policy(folder, solo=solo) for solo in modes]


@cache
def _basis(domain: Domain) -> dict[str, Any]:
    """The hashes of everything that a verdict in the domain rests on."""
    folder = load_domain_config(domain)["db_path"].parent
    kits = {"tools": domain.toolkit, "user_tools": domain.user_toolkit}
    return {
        "files": data_fingerprint(domain),
        "policy": hashlib.sha256(domain.policy(folder).encode()).hexdigest(),
        **{name: digest(kit.definitions()) for name, kit in kits.items() if kit is not None},
    }
