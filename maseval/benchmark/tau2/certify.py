"""Certificates: rewards recomputed, records checked, and the outcome written down.

A certificate is a record of recomputed numbers and of what they rest on, with a checksum over both.
"""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from typing import Any

from maseval.benchmark.tau2.data import title_of, version_titled
from maseval.benchmark.tau2.data_loader import data_fingerprint, load_domain_config
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.rescoring.findings import in_words
from maseval.benchmark.tau2.rescoring.recount import Recount
from maseval.benchmark.tau2.rescoring.verdict import conversation_in
from maseval.benchmark.tau2.results.recorded import RecordedReports
from maseval.benchmark.tau2.scoring.rule import RULE
from maseval.benchmark.tau2.texts.original import format_texts_config
from maseval.benchmark.tau2.world.state.records import canonical_json, hash_json
from maseval.core.exceptions import MASEvalError
from maseval.core.finding import read_findings
from maseval.core.judge import Judge
from maseval.core.recorded import mapping
from maseval.core.scoring_options import ScoringOptions
from maseval.core.words import count_of, percent, text_or_none, words_on_code
from maseval.data.folder import forget_hashes
from maseval.stats.summary import summarise

__all__ = ["Certificate", "CertificateError", "certify", "verify"]

_LISTED = "as listed"
FORM = "maseval tau2 certificate 5"


class CertificateError(MASEvalError, ValueError):
    """Not a certificate, or one that was changed after it was written."""


_KEYS = (
    "form",
    "source",
    "setup",
    "rules",
    "domains",
    "simulations_sha256",
    "numbers",
    "agreement",
    "findings",
)


class Certificate:
    """A certificate's content, with the SHA-256 over its canonical JSON as a checksum.

    Its ``numbers`` are those of each domain. ``agreement`` counts the recorded rewards that were
    ``compared`` with recomputed ones, and those that are ``equal``. The checksum finds damage, not
    forgery: whoever changes a certificate can compute it anew.
    """

    def __init__(self, content: Mapping[str, Any]) -> None:
        self.content = content
        self.sha256 = hash_json(content)

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
        return {**self.content, "sha256": self.sha256}

    def to_json(self) -> str:
        return json.dumps(self.to_dict(), indent=2) + "\n"

    @classmethod
    def of(cls, value: "Certificate | Mapping[str, Any] | str") -> "Certificate":
        """Read a certificate, or its JSON; one whose checksum is wrong is refused."""
        if isinstance(value, Certificate):
            return value
        try:
            form: Mapping[str, Any] = json.loads(value) if isinstance(value, str) else value
            content = {key: form[key] for key in _KEYS}
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
        certificate = cls(content)
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
        if code := content["rules"].get("code"):
            lines.append(f"  {code}")
        for side in ("agent", "user"):
            options = mapping(content["setup"].get(side), "options")
            if policy := text_or_none(options.get("reasoning_policy")):
                lines.append(f"  reasoning sent back to the {side}'s model: {policy}")
        lines.append(f"  tasks of {content['rules']['scoring']}, {content['rules']['tasks']}")
        lines.append(f"  checksum sha256 {self.sha256}")
        return "\n".join(lines)


def certify(
    source: RecordedReports,
    options: ScoringOptions | None = None,
    *,
    partial: bool = False,
    judge: Judge | None = None,
) -> Certificate:
    """Score every simulation of a record again and certify the numbers.

    With ``partial``, the tasks that a file lists are all there should be; otherwise every task of
    their split is, and those that are not listed have no verdict. Without a ``judge`` of
    natural-language assertions, a record with rewards that depend on them cannot be certified.
    """
    if judge is not None and judge.model == RULE:
        raise CertificateError(
            "the verdicts are those of a rule, which is not the official judge; certify a run that "
            "was judged by a model"
        )
    forget_hashes()  # a certificate rests on the data files as they are now
    claims, hashed = source.claims, hashlib.sha256()
    planned = bool(claims.tasks or claims.planned)
    modes, texts, code = set[str](), set[str](), list[str | None]()
    found = Recount(source, options, whole_split=planned and not partial, judge=judge)
    for report, judged in found.judge_all():
        simulation, problem = conversation_in(report)
        # With its place, so that simulations which change places are noticed.
        hashed.update(canonical_json((str(judged.slot), simulation)).encode())
        code.append(report.code)
        # Where no conversation is recorded, none was held by any rules.
        if problem is None:
            used = {"lenient order ids": report.lenient, "solo": report.solo}
            modes.update(mode for mode, is_used in used.items() if is_used)
            texts.update([format_texts_config(report.texts, digits=64)] if report.texts else [])
    wrong = found.findings  # first: it refuses a plan that is too large to be listed
    compared = [each for each in found.simulations if None not in (each.reward, each.recorded)]
    return Certificate(
        {
            "form": FORM,
            "source": claims.name,
            "setup": {**claims.setup, "models": sorted(found.models)},
            "rules": {
                "scoring": f"tau2-bench {title_of(found.version)}",
                "evaluation_type": "all",
                "modes": sorted(modes),
                **({"judges": [found.model.model_id]} if found.model else {}),
                **({"texts": sorted(texts)} if texts else {}),
                **({"code": words} if (words := words_on_code(code)) else {}),
                "tasks": _LISTED if found.split is None else found.split[0],
            },
            "domains": {name: _basis(each) for name, each in sorted(found.domains.items())},
            "simulations_sha256": hashed.hexdigest(),
            "numbers": {name: _numbers(found, name) for name in sorted(found.domains)},
            "agreement": {
                "compared": len(compared),
                "equal": sum(each.misstatement is None for each in compared),
            },
            "findings": [each.to_dict() for each in wrong],
        }
    )


def verify(
    certificate: Certificate | Mapping[str, Any] | str,
    source: RecordedReports,
    options: ScoringOptions | None = None,
    *,
    judge: Judge | None = None,
) -> list[str]:
    """Certify a record again; the parts in which the outcome differs, so none if all is well.

    A certificate that was changed itself raises a ``CertificateError``.
    """
    read = Certificate.of(certificate)
    partial = read.content["rules"].get("tasks") == _LISTED
    again = certify(source, options, partial=partial, judge=judge)
    given, found = read.to_dict(), again.to_dict()
    return [
        f"{key}: certified {given[key]!r}, found {found[key]!r}"
        for key in again.content
        # The file may have been renamed since.
        if key != "source" and given[key] != found[key]
    ]


def _numbers(found: Recount, domain: str) -> dict[str, Any]:
    """Return the numbers of one domain, over those of its ``simulations`` that have a verdict.

    ``missing`` ones are not in the record. ``range`` is what pass^1 becomes if all without a
    verdict fail, and if all pass; None if every planned simulation has one.
    """
    slots = [slot for slot in found.by_trial if slot.domain == domain]
    counted = [slot for slot in slots if found.by_trial[slot] is not None]
    summary = summarise([each for each in found.outcomes if each.domain == domain]).overall
    bounds = summary.estimate(1).bounds
    return {
        "simulations": len(slots),
        "missing": sum(slot.domain == domain for slot in found.missing),
        "verdicts": len(counted),
        "range": None if bounds is None else list(bounds),
        "tasks": summary.tasks,
        "passed": summary.passed,
        "pass_hat_k": {each.name: each.value for each in summary.pass_hat.values()},
    }


@cache
def _basis(domain: Domain) -> dict[str, Any]:
    """Return the hashes of everything that a verdict in the domain rests on."""
    folder = load_domain_config(domain)["db_path"].parent
    kits = {"tools": domain.toolkit, "user_tools": domain.user_toolkit}
    return {
        "files": data_fingerprint(domain),
        "policy": hashlib.sha256(domain.policy(folder).encode()).hexdigest(),
        **{name: hash_json(kit.definitions()) for name, kit in kits.items() if kit is not None},
    }
