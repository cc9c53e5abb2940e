"""Finding: one statement about a conversation, a task or a record, and how sure it is.

Whatever looks at a conversation or a task (the rules of a policy, the search for who failed, the
errata, the audit, the check of a record) returns findings, made where they are found. From there a
finding is not converted any more: it is kept as ``to_dict`` writes it, and printed, tabled and
shown on pages from its fields.

A finding is *proven* if it is recomputed, so that anyone can repeat it: by replaying calls, or by
comparing states, or by following a value from where it was read to where it is used. It is *judged*
if a language model says so, ``by`` which one and how often that was right when measured. It is
*undecided* if the record does not decide; what it would weigh is given all the same, so that a
number can say what it would be if every such case were one.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple

from maseval.core.words import excerpt

Grade = Literal["proven", "judged", "undecided"]

Source = Literal["policy", "cause", "user", "erratum", "audit", "record", "judge"]
"""The part that found it: ``cause`` says who failed, ``record`` is about what was written down."""

Who = Literal["agent", "user", "task", "infrastructure", "unclear"]
WHO: tuple[Who, ...] = ("agent", "user", "task", "infrastructure", "unclear")

Weight = Literal["state", "manner", "remark"]
"""``state``: state and money, which counts. ``manner``: how it came about, where nothing wrong was
written, charged or told. ``remark``: a matter of form, or what changes nothing, as a call that the
tool refused or a breach that the reference solution demands."""

LEFT_OUT, SOUND_PASS, SOUND_FAIL = "left out", "sound verdict: passed", "sound verdict: failed"
"""The kinds of an erratum's finding: its task does not count, or counts by another verdict."""

_LONGEST_CALL = 120


@dataclass(frozen=True)
class Finding:
    """One statement: who did what, the rule that says so, and what shows it.

    ``kind`` is a short name that simulations can be filtered by, ``rule`` the name of the rule,
    ``text`` a sentence. ``message`` is the index of the message that shows it, ``call`` the tool
    call in words, and ``evidence`` are further sentences. ``also`` names a second party where two
    failed.
    """

    source: Source
    who: Who
    kind: str
    rule: str
    text: str
    grade: Grade = "proven"
    message: int | None = None
    call: str | None = None
    evidence: tuple[str, ...] = ()
    weight: Weight = "state"
    also: Who | None = None
    by: str | None = None

    @property
    def counts(self) -> bool:
        """True if it is decided, and about state or money."""
        return self.grade != "undecided" and self.weight == "state"

    @property
    def is_breach(self) -> bool:
        """True if it is decided, and more than a remark."""
        return self.grade != "undecided" and self.weight != "remark"

    @property
    def parties(self) -> str:
        """The party that it is about, or both: ``agent and user``."""
        return self.who if self.also is None else f"{self.who} and {self.also}"

    @property
    def name(self) -> str:
        """The finding in short: ``agent: forbidden write`` and the like."""
        return f"{self.parties}: {self.kind}"

    def __str__(self) -> str:
        where = "" if self.message is None else f"message {self.message}: "
        about = "" if self.call is None else f"; {excerpt(self.call, _LONGEST_CALL)}"
        how = " (undecided)" if self.grade == "undecided" else ""
        return f"{where}{self.text}{how}{about} [{self.rule}]"

    def to_dict(self) -> dict[str, Any]:
        form = {**asdict(self), "evidence": list(self.evidence)}
        if self.by is None:  # certificates of earlier versions have no such field
            del form["by"]
        return form


def read_findings(forms: Iterable[Mapping[str, Any]]) -> tuple[Finding, ...]:
    """Return the findings that ``to_dict`` wrote; raise ``TypeError`` for other fields."""
    return tuple(Finding(**{**form, "evidence": tuple(form.get("evidence", ()))}) for form in forms)


class Section(NamedTuple):
    """One part of an explanation; ``lines`` keep their own indentation.

    ``on_page`` is False for what the HTML page shows in another form.
    """

    title: str
    lines: Sequence[str] = ()
    on_page: bool = True
