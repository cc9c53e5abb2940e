"""A certificate: recomputed numbers, what they rest on, and a hash that holds it together."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, TypedDict

from maseval.benchmark.tau2.domains.records import canonical_json
from maseval.core.exceptions import MASEvalError

FORM = "maseval tau2 certificate 1"


class CertificateError(MASEvalError, ValueError):
    """Not a certificate, or one that was changed after it was written."""


class Agreement(TypedDict):
    """How the recorded rewards compare with the recomputed ones."""

    compared: int
    equal: int
    without_recorded_reward: int


class Numbers(TypedDict):
    """What was recomputed for one domain; every simulation counts."""

    simulations: int
    tasks: int
    passed: int
    mean_reward: float
    pass_hat_k: dict[str, float]
    not_scorable: int


class CertificateContent(TypedDict):
    """All that a certificate says, apart from its hash."""

    form: str
    source: str | None
    rules: dict[str, Any]
    domains: dict[str, dict[str, Any]]
    simulations_sha256: str
    omitted: dict[str, int]
    numbers: dict[str, Numbers]
    agreement: Agreement
    suspicions: list[dict[str, str]]


class Certificate:
    """A certificate's content with the SHA-256 over its canonical JSON."""

    def __init__(self, content: CertificateContent) -> None:
        self.content = content
        self.sha256 = digest(content)

    @property
    def is_clean(self) -> bool:
        """Whether every recorded reward was confirmed and nothing was suspicious."""
        agreement = self.content["agreement"]
        return agreement["equal"] == agreement["compared"] and not self.content["suspicions"]

    def to_dict(self) -> dict[str, Any]:
        """In JSON's terms, the hash included."""
        return {**self.content, "sha256": self.sha256}

    def to_json(self) -> str:
        """As the text of a file."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def of(cls, value: "Certificate | Mapping[str, Any] | str") -> "Certificate":
        """Read a certificate, or its JSON; one whose hash is wrong is refused."""
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
        if content["form"] != FORM:
            raise CertificateError(f"the certificate's form is {content['form']!r}, not {FORM!r}")
        certificate = cls(content)  # type: ignore[arg-type]  # its keys are checked above
        if certificate.sha256 != found:
            raise CertificateError(
                f"the certificate was changed: its hash is {certificate.sha256}, "
                f"but it says {found}; certify the simulations again"
            )
        return certificate

    def text(self) -> str:
        """In words, the suspicions last."""
        agreement = self.content["agreement"]
        lines = [f"certificate {self.sha256}"]
        for name, numbers in self.content["numbers"].items():
            passes = ", ".join(f"{k} {v:.3f}" for k, v in numbers["pass_hat_k"].items())
            lines.append(
                f"  {name}: {numbers['passed']} of {numbers['simulations']} passed, "
                f"{numbers['tasks']} tasks; {passes}"
            )
        lines.append(
            f"  {agreement['equal']} of {agreement['compared']} recorded rewards confirmed"
        )
        if texts := self.content["rules"].get("texts"):
            lines.append(f"  texts that models read: {', '.join(texts)}")
        for reason, count in self.content["omitted"].items():
            lines.append(f"  {count} left out: {reason}")
        for each in self.content["suspicions"]:
            lines.append(f"  {each['kind']}: {each['where']}: {each['text']}")
        return "\n".join(lines)


def digest(value: object) -> str:
    """The SHA-256 of a value's canonical JSON."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()
