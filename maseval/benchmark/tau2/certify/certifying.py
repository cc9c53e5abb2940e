"""certify: recompute every reward from the messages, and write down what came out."""

import hashlib
from collections.abc import Iterable, Mapping
from functools import cache
from statistics import fmean
from typing import Any, NamedTuple

from maseval.benchmark.tau2.certify.certificate import FORM, Certificate, DomainNumbers, digest
from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.data_loader import data_fingerprint, load_domain_config
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import AnyVersion
from maseval.benchmark.tau2.rescoring.findings import record_findings
from maseval.benchmark.tau2.rescoring.judges import JudgePanel
from maseval.benchmark.tau2.rescoring.record import (
    MALFORMED,
    RecordItem,
    RecordSource,
    SimulationRecord,
    open_record,
)
from maseval.benchmark.tau2.rescoring.remote import score_with_engine
from maseval.benchmark.tau2.rescoring.rescore import Assessed, RescoredRecord
from maseval.benchmark.tau2.rescoring.verdict import FOREIGN_TASK, RescoredSimulation
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.engine.engines import MappingEngine
from maseval.core.engine.worker_setup import check_data
from maseval.data.folder import forget_hashes
from maseval.data.store import AnyPath
from maseval.stats.trials import measure_name

_LISTED = "as listed"


def certify(
    source: RecordSource | SimulationRecord,
    *,
    domain: str | Domain | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    partial: bool = False,
    version: AnyVersion = None,
    panel: JudgePanel | None = None,
    engine: MappingEngine | None = None,
) -> Certificate:
    """Score every simulation again and certify the numbers.

    Args:
        source: A results file (its path, or what ``read_results`` gives), or simulations or
            reports from anywhere.
        domain: The domain, whatever the simulations call theirs.
        solo: The agent worked alone, where the simulations do not say so.
        data_dir: A data folder other than the cache.
        partial: The tasks that a file lists are all there should be; otherwise every task of their
            split is, and those that are not listed have no verdict.
        version: The release by whose tasks and rules it is judged; without it v0.2.0, or the
            release that reports were run by.
        panel: The judge of natural-language assertions; without one, a source with rewards that
            depend on them cannot be certified.
        engine: Where a large file is scored; without one, or with a ``data_dir``, in this process.
    """
    whole = (
        source
        if isinstance(source, SimulationRecord)
        else open_record(source, domain, solo, version)
    )
    forget_hashes()  # a certificate rests on the data files as they are now
    run = _Certification(whole, data_dir, partial, panel)
    run.go_through(None if data_dir is not None else engine)
    return run.certificate()


def verify(
    certificate: Certificate | Mapping[str, Any] | str,
    source: RecordSource | SimulationRecord,
    *,
    domain: str | Domain | None = None,
    solo: bool = False,
    data_dir: AnyPath | None = None,
    version: AnyVersion = None,
    panel: JudgePanel | None = None,
    engine: MappingEngine | None = None,
) -> list[str]:
    """Certify ``source`` again; the parts in which the outcome differs, so none if all is well.

    A certificate that was changed itself raises a ``CertificateError``.
    """
    read = Certificate.of(certificate)
    partial = read.content["rules"].get("tasks") == _LISTED
    again = certify(
        source,
        domain=domain,
        solo=solo,
        data_dir=data_dir,
        partial=partial,
        version=version,
        panel=panel,
        engine=engine,
    )
    given, found = read.to_dict(), again.to_dict()
    return [
        f"{key}: certified {given[key]!r}, found {found[key]!r}"
        for key in again.content
        if key != "source" and given[key] != found[key]
    ]


class _Seen(NamedTuple):
    """The part of a certificate about one simulation, besides its verdict; ``text`` is hashed."""

    text: bytes
    modes: frozenset[str]
    texts: frozenset[str]


def _look_at(item: RecordItem, judged: RescoredSimulation) -> _Seen:
    where = judged.identity.where
    modes = {"lenient order ids": item.lenient, "solo": item.solo}
    return _Seen(
        canonical_json((where, item.simulation)).encode(),
        frozenset(mode for mode, is_used in modes.items() if is_used),
        frozenset({item.texts} if item.texts else ()),
    )


class _Certification:
    def __init__(
        self,
        whole: SimulationRecord,
        data_dir: AnyPath | None,
        partial: bool,
        panel: JudgePanel | None = None,
    ) -> None:
        self._whole = whole
        self._data_dir = data_dir
        planned = bool(whole.tasks or whole.planned)
        self._found = RescoredRecord(
            whole, whole_split=planned and not partial, data_dir=data_dir, panel=panel
        )
        self._hash = hashlib.sha256()
        self._modes: set[str] = set()
        self._texts: set[str] = set()

    def go_through(self, engine: MappingEngine | None) -> None:
        """Judge all items; what others have looked at is only added here, in order."""
        every: Iterable[Assessed] = ((item, None, None) for item in self._whole.items)
        if engine is not None:
            every = score_with_engine(engine, check_data, _look_at)(self._found)
        for item, assessed, seen in every:
            if assessed is None:
                judged = self._found.add(item)
                seen = _look_at(item, judged)
            else:
                judged = self._found.place(item, assessed)
            self._add(judged, seen)

    def _add(self, judged: RescoredSimulation, seen: _Seen) -> None:
        self._hash.update(seen.text)
        self._modes |= seen.modes
        self._texts |= seen.texts

    def certificate(self) -> Certificate:
        whole, found = self._whole, self._found
        wrong = record_findings(found)  # first: it refuses a plan that is too large to be listed
        judged = [each for each in found.simulations if each.reward is not None]
        compared = [each for each in judged if each.recorded is not None]
        return Certificate(
            {
                "form": FORM,
                "source": whole.name,
                "setup": {**whole.setup, "models": sorted(whole.models)},
                "rules": self._rules(),
                "domains": {name: _basis(each) for name, each in sorted(found.domains.items())},
                "simulations_sha256": self._hash.hexdigest(),
                "omitted": self._count_omitted(),
                "numbers": {name: _numbers(found, name) for name in sorted(found.domains)},
                "agreement": {
                    "compared": len(compared),
                    "equal": sum(each.misstatement is None for each in compared),
                    "without_recorded_reward": len(judged) - len(compared),
                },
                "findings": [each.to_dict() for each in wrong],
            }
        )

    def _rules(self) -> dict[str, object]:
        found = self._found
        return {
            "scoring": f"tau2-bench {title_of(found.version)}",
            "evaluation_type": "all",
            "modes": sorted(self._modes),
            **({"judges": judges} if (judges := found.panel.names) else {}),
            **({"texts": sorted(self._texts)} if self._texts else {}),
            "tasks": _LISTED if found.split is None else found.split[0],
        }

    def _count_omitted(self) -> dict[str, int]:
        counted = self._found.problems
        del counted[FOREIGN_TASK]  # listed one by one
        if self._whole.malformed:
            counted[MALFORMED] = len(self._whole.malformed)
        return dict(sorted(counted.items()))


def _numbers(found: RescoredRecord, domain: str) -> DomainNumbers:
    slots = [slot for slot in found.passes if slot.domain == domain]
    counted = [slot for slot in slots if found.passes[slot] is not None]
    summary = found.summarise([each for each in found.outcomes if each.group == domain])
    bounds = summary.estimate("pass^k", 1).bounds
    rewards = [min(each.reward or 0.0 for each in found.by_slot[slot]) for slot in counted]
    return {
        "simulations": len(slots),
        "missing": sum(slot.domain == domain for slot in found.missing),
        "verdicts": len(counted),
        "range": None if bounds is None else list(bounds),
        "tasks": summary.tasks,
        "passed": summary.passed,
        "mean_reward": fmean(rewards) if rewards else 0.0,
        "pass_hat_k": {measure_name("pass^k", k): v["value"] for k, v in summary.scores.items()},
        "not_scorable": sum(
            each.fault is not None for each in found.simulations if each.slot.domain == domain
        ),
    }


@cache
def _basis(domain: Domain) -> dict[str, Any]:
    """Return the hashes of everything that a verdict in the domain rests on."""
    folder = load_domain_config(domain)["db_path"].parent
    kits = {"tools": domain.toolkit, "user_tools": domain.user_toolkit}
    return {
        "files": data_fingerprint(domain),
        "policy": hashlib.sha256(domain.policy(folder).encode()).hexdigest(),
        **{name: digest(kit.definitions()) for name, kit in kits.items() if kit is not None},
    }
