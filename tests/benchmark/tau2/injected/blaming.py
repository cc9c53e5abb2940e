"""Play a gold conversation with a fault in it, and hold its label against whose fault it is."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from maseval.benchmark.tau2.review.explain.scored_case import score_case
from maseval.benchmark.tau2.review.labels import label
from maseval.benchmark.tau2.review.policy import forbidden_steps, scenario_text
from maseval.stats.failure_labels import Label
from tests.benchmark.tau2.compliance.gold_talk import play
from tests.benchmark.tau2.injected import carrier, faults
from tests.benchmark.tau2.injected.faults import Fault
from tests.benchmark.tau2.injected.scenes import conversation

DOMAINS = ("airline", "retail", "telecom")


class Blamed(NamedTuple):
    """A failure with a known fault in it: ``verdict`` is right, left open or wrong."""

    label: Label
    verdict: str


def faults_of(domain: str) -> Sequence[Fault]:
    every = carrier.FAULTS if domain == "telecom" else faults.FAULTS
    return [each for each in every if domain in each.domains]


def blame(domain: str, name: str, task: Mapping[str, Any], rng: random.Random) -> Blamed | None:
    """Write the fault into the task's conversation; None if it fits not, or nothing fails by it.

    Tasks whose reference solution breaks the policy are left out: there the task fails as well.
    """
    talk = carrier.talk_of(task) if domain == "telecom" else conversation(domain, task)
    fault = next(each for each in faults_of(domain) if each.name == name)
    changed = None if talk is None else fault.change(talk.copy(), rng)
    if changed is None:
        return None
    simulation = play(domain, task, changed.steps()) | {"termination_reason": changed.reason}
    subject = score_case(simulation, domain)
    if forbidden_steps(subject.case.setting, scenario_text(task)):
        return None
    found = label(simulation, domain=domain)
    if found is None:
        return None
    verdict = "right" if found.who == fault.who else "left open"
    return Blamed(found, verdict if found.who in (fault.who, "unclear") else "wrong")
