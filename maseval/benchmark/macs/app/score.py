"""``maseval macs score``: finished conversations judged as the original judges them."""

import os
from typing import Any

from maseval.benchmark.macs.scoring import ResultsDocument, score_conversations
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import resolve_model


def score(
    folder: str | os.PathLike[str],
    domain: str,
    *,
    judge_model: str,
    base_url: str | None = None,
    strict: bool = False,
) -> ResultsDocument:
    """Let a model judge the files ``conversation_<i>.json`` of a folder.

    With ``strict``, whatever the original's script would crash on is raised.
    """
    if not os.path.isdir(folder):
        raise ConfigurationError(f"there is no folder {os.fspath(folder)!r}")
    options: dict[str, Any] = {} if base_url is None else {"base_url": base_url}
    return score_conversations(folder, domain, resolve_model(judge_model, **options), strict=strict)
