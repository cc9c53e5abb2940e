"""A certificate: a record of recomputed numbers, what they rest on, and a checksum over both."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypedDict

from maseval.benchmark.tau2.data import version_titled
from maseval.benchmark.tau2.rescoring.record_finding import in_words
from maseval.benchmark.tau2.world.state.records import canonical_json
from maseval.core.exceptions import MASEvalError
from maseval.core.figures import percent
from maseval.core.finding import read_findings
from maseval.core.recorded import mapping
from maseval.core.words import count_of, text_or_none

FORM = "maseval tau2 certificate 4"


class CertificateError(MASEvalError, ValueError):
    """Not a certificate, or one that was changed after it was written."""


class RewardAgreement(TypedDict):
    """Counts of recorded rewards that were compared with recomputed ones."""

    compared: int
    equal: int
    without_recorded_reward: int


class DomainNumbers(TypedDict):
    """Recomputed numbers of one domain, over those of its ``simulations`` that have a verdict.

    ``missing`` ones are not in the record. ``range`` is what pass^1 becomes if all without a
    verdict fail, and if all pass; None if every planned simulation has one.
    """

    simulations: int
    missing: int
    verdicts: int
    range: list[float] | None
    tasks: int
    passed: int
    mean_reward: float
    pass_hat_k: dict[str, float]
    not_scorable: int


class CertificateContent(TypedDict):
    """All that a certificate says, apart from its checksum and signature."""

    form: str
    source: str | None
    setup: dict[str, Any]
    rules: dict[str, Any]
    domains: dict[str, dict[str, Any]]
    simulations_sha256: str
    omitted: dict[str, int]
    numbers: dict[str, DomainNumbers]
    agreement: RewardAgreement
    findings: list[dict[str, Any]]


class Certificate:
    """A certificate's content, with the SHA-256 over its canonical JSON as a checksum.

    The checksum finds damage, not forgery: whoever changes a certificate can compute it anew. Only
    a ``signature`` says who made it.
    """

    def __init__(self, content: CertificateContent, signature: str | None = None) -> None:
        self.content = content
        self.sha256 = digest(content)
        self.signature = signature

    @property
    def signed_text(self) -> str:
        """The text that a signature covers: the content as canonical JSON."""
        return canonical_json(self.content)

    def with_signature(self, signature: str) -> "Certificate":
        return Certificate(self.content, signature)

    @property
    def version(self) -> str:
        """The release of tau2-bench by whose rules the numbers were recomputed."""
        return version_titled(str(self.content["rules"]["scoring"]))

    @property
    def is_clean(self) -> bool:
        """True if every recorded verdict was confirmed and nothing was found."""
        agreement = self.content["agreement"]
        return agreement["equal"] == agreement["compared"] and not self.content["findings"]

    @property
    def is_sound(self) -> bool:
        """True if something was compared and nothing makes the numbers untrustworthy."""
        wrong = any(each["weight"] == "state" for each in self.content["findings"])
        return self.content["agreement"]["compared"] > 0 and not wrong

    def to_dict(self) -> dict[str, Any]:
        signature = {} if self.signature is None else {"signature": self.signature}
        return {**self.content, "sha256": self.sha256, **signature}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def of(cls, value: "Certificate | Mapping[str, Any] | str") -> "Certificate":
        """Read a certificate, or its JSON; one whose checksum is wrong is refused."""
        if isinstance(value, Certificate):
            return value
        try:
            form: Mapping[str, Any] = json.loads(value) if isinstance(value, str) else value
            content = {key: form[key] for key in CertificateContent.__annotations__}
            found = form["sha256"]
        except (ValueError, KeyError, TypeError) as error:
            raise CertificateError(
                f"not a certificate ({error!r}); pass what certify() returned or wrote"
            ) from error
        if not isinstance(content["rules"], dict) or "scoring" not in content["rules"]:
            raise CertificateError("not a certificate: its rules are missing")
        if content["form"] != FORM:
            raise CertificateError(
                f"the certificate's form is {content['form']!r}, not {FORM!r}; certify again"
            )
        signature = form.get("signature")
        certificate = cls(content, signature)  # type: ignore[arg-type]  # keys are checked above
        if certificate.sha256 != found:
            raise CertificateError(
                f"the certificate was changed: its checksum is {certificate.sha256}, "
                f"but it says {found}; certify the simulations again"
            )
        return certificate

    def text(self) -> str:
        """Describe the certificate: what was found first, then the numbers."""
        agreement, content = self.content["agreement"], self.content
        lines = [in_words(each) for each in read_findings(content["findings"])]
        for name, numbers in content["numbers"].items():
            passes = ", ".join(f"{k} {percent(v)}" for k, v in numbers["pass_hat_k"].items())
            lines.append(
                f"  {name}: {numbers['passed']} of {numbers['verdicts']} passed, "
                f"{count_of(numbers['tasks'], 'task')}; {passes}"
            )
            if numbers["range"] is not None:
                low, high = numbers["range"]
                lines.append(
                    f"  {name}: {numbers['verdicts']} of {numbers['simulations']} simulations have "
                    f"a verdict: pass^1 is {percent(low)} if all others fail, {percent(high)} if "
                    "all pass."
                )
        lines.append(
            f"  {agreement['equal']} of {agreement['compared']} recorded verdicts confirmed"
        )
        if texts := content["rules"].get("texts"):
            lines.append(f"  texts that models read: {', '.join(texts)}")
        for side in ("agent", "user"):
            if policy := reasoning_of_side(content["setup"].get(side)):
                lines.append(f"  reasoning sent back to the {side}'s model: {policy}")
        lines.append(f"  tasks of {content['rules']['scoring']}, {content['rules']['tasks']}")
        for reason, count in content["omitted"].items():
            lines.append(f"  {count} without a new verdict: {reason}")
        lines.append(f"  checksum sha256 {self.sha256}{', signed' if self.signature else ''}")
        return "\n".join(lines)


def reasoning_of_side(side: object) -> str | None:
    """Return the reasoning policy of a side of a run's setup, if it is not the usual one."""
    return text_or_none(mapping(side, "options").get("reasoning_policy"))


def digest(value: object) -> str:
    """Return the SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
