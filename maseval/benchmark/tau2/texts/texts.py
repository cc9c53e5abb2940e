"""``Texts``: all that a model reads in one version of the original, named by a hash.

A text is a ``str``. Where the original fills values in, it is ``TextParts``: the texts and, between
them, the expressions whose values belong there. Nothing else is checked of texts: their hash is
known in advance.

After tau2-bench v0.2.0 to v1.0.1, src/tau2/ (MIT, Sierra Research).
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from maseval.benchmark.tau2.data.files import Tau2DataError


class TextsError(Tau2DataError):
    """The original's texts cannot be read, or are not what they should be."""


FORMAT = "maseval-tau2-texts/1"

Form = Mapping[str, Any]
"""A part of the extracted form, whose keys are in order."""
ToolText = Form
"""The ``name`` and ``description`` of a tool, and by name those of its ``parameters``, or None."""
TextParts = Sequence[str | Mapping[str, str]]


def fill_parts(parts: TextParts, values: Mapping[str, str]) -> str:
    """Return the text with ``values``, by expression, inserted verbatim in their places."""
    return "".join(part if isinstance(part, str) else values[part["value"]] for part in parts)


@dataclass(frozen=True)
class Texts:
    """The texts of one version.

    ``prompts`` are what is said to a model outside tool schemas, by name. ``tools`` are those of
    each domain (the stop tool: ``solo``), by side and in the order in which they are offered.
    ``models`` are the classes that occur in schemas, by domain and name.
    """

    version: str
    prompts: Form
    tools: Mapping[str, Mapping[str, Sequence[ToolText]]]
    models: Mapping[str, Mapping[str, Form]]

    @cached_property
    def sha256(self) -> str:
        """The hash that names these texts in a run's record; it does not depend on the version."""
        named = {key: value for key, value in asdict(self).items() if key != "version"}
        return hashlib.sha256(_compact(named)).hexdigest()

    def as_json(self) -> dict[str, Any]:
        """Return the extracted form; what a version does not have is left out."""
        return {"format": FORMAT, **asdict(self)}

    def to_bytes(self) -> bytes:
        """Return the extracted form as the content of a file."""
        return _compact(self.as_json())


def _compact(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
