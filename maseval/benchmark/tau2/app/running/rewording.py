"""``maseval tau2 tasks --reword``: other words for customers, for ``--perturb prompt=FILE``.

A model makes the rewordings, or whoever writes the file: for each domain and task the instructions
in their own form, with texts that say the same. Ids, amounts and names of the original must all be
there again; a rewording that lost one is asked for anew, and refused where a run reads it.
"""

import json
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from maseval.app.running.prices import Prices
from maseval.benchmark.tau2.app.running.options import DATA_VERSION, RunOptions
from maseval.benchmark.tau2.app.running.tasks import load_chosen
from maseval.benchmark.tau2.scoring.case import texts_in
from maseval.core.exceptions import ConfigurationError
from maseval.core.model import ModelAdapter, resolve_model
from maseval.core.outcome import TaskKey
from maseval.core.recorded import mapping
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.core.task import Task
from maseval.data.folder import AnyPath

_ATTEMPTS = 3
_WAY = "`maseval tau2 tasks DOMAIN --reword FILE --model MODEL` makes them"
_REQUEST = (
    "Below are the instructions of a customer, as JSON. Reword every text in it: other words and "
    "other sentences, the same meaning. Keep every id, amount, date and name letter by letter, add "
    "nothing and leave nothing out. Answer with JSON of the same keys alone.\n\n{}"
)


class RewordedTasks(NamedTuple):
    """The result of ``reword``; ``failed`` tasks lost a fact in every attempt."""

    path: Path
    reworded: int
    failed: Mapping[str, Sequence[str]]
    cost: float | None


def reword(
    domain: str,
    model: str,
    output: AnyPath,
    *,
    task_id: Sequence[str] = (),
    data_version: str = DATA_VERSION,
    base_url: str | None = None,
) -> RewordedTasks:
    """Let a model reword what the customers of a domain are told; a file that is there is added to.

    Every task is saved as soon as it is done.
    """
    path = Path(output)
    asked = _open_model(model, base_url)
    options = RunOptions(domain=[domain], task_id=task_id, data_version=data_version)
    known = read_rewordings(path) if path.exists() else {}
    own, failed = dict(mapping(known, domain)), {}
    [tasks] = load_chosen(options, None).values()
    for task in tasks:
        # An earlier call has paid for it.
        if task.id in own:
            continue
        found, lost = _reword_one(asked, task.user_data["instructions"])
        if lost:
            failed[str(task.id)] = lost
            continue
        own[str(task.id)] = found
        # After each task, as what was paid for should outlive whatever happens next.
        write_bytes(path, json.dumps({**known, domain: own}, indent=1).encode())
    return RewordedTasks(path, len(own), failed, asked.gather_usage().cost)


def _open_model(model: str, base_url: str | None) -> ModelAdapter:
    address: dict[str, Any] = {"base_url": base_url} if base_url else {}
    found = resolve_model(model, **address)
    if price := Prices().at(model, base_url):
        found.use_prices(price)
    return found


def _reword_one(model: ModelAdapter, told: object) -> tuple[object, list[str]]:
    """Return the reworded instructions, or what the last attempt lacked."""
    request, lost = _REQUEST.format(json.dumps(told, ensure_ascii=False)), ["an answer"]
    for _ in range(_ATTEMPTS):
        answer = model.chat([{"role": "user", "content": request}]).content or ""
        # Models like to say something before the JSON.
        start = answer.find("{" if isinstance(told, dict) else '"')
        try:
            found, _ = json.JSONDecoder().raw_decode(answer, max(start, 0))
        except (ValueError, RecursionError):
            lost = ["JSON"]
            continue
        lost = lost_facts(told, found)
        if not lost:
            return found, []
        request = f"{request}\n\nThis answer lacked {', '.join(lost)}:\n{answer}"
    return None, lost


def lost_facts(told: object, reworded: object) -> list[str]:
    """Return the keys, ids, amounts and names of instructions that a rewording does not have."""
    if isinstance(told, Mapping):
        texts = mapping(reworded)
        keys = [k for k in told if k not in texts or bool(told[k]) != bool(texts[k])]
        if keys:
            return keys
    # Tools compare ids and names letter by letter, so that a paraphrase of one makes a task
    # unsolvable.
    elif not isinstance(reworded, str):
        return ["a text"]
    text = "\n".join([reworded] if isinstance(reworded, str) else texts_in(reworded))
    facts = {fact for each in texts_in(told) for fact in _facts(each)}
    return sorted(fact for fact in facts if not _is_in(fact, text))


def _is_in(fact: str, text: str) -> bool:
    """Return True if a text has a fact as a whole: $40 does not say $4, nor does $4.50."""
    return bool(re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(fact)}(?!\w|[.,]\d)", text))


def _facts(text: str) -> Iterator[str]:
    """Yield the words with a digit or a sign in them, and those that begin with a capital.

    A capital after the end of a sentence says nothing.
    """
    begins = True
    for given in text.split():
        word = given.strip(".,;:!?()\"'").removesuffix("'s")
        is_name = word[:1].isupper() and not begins and len(word) > 1
        if is_name or any(char.isdigit() or char in "@_#" for char in word):
            yield word
        begins = given[-1] in ".!?:"


def read_rewordings(path: str | os.PathLike[str]) -> Mapping[str, Any]:
    try:
        found = strict_json.loads(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigurationError(
            f"the rewordings in {path} cannot be read: {error}; {_WAY}"
        ) from error
    if not isinstance(found, dict) or not all(isinstance(each, dict) for each in found.values()):
        raise ConfigurationError(
            f"{path} has no rewordings by domain and task; `maseval tau2 tasks --reword` makes them"
        )
    return found


def apply_rewordings(tasks: Sequence[Task], path: str) -> None:
    """Tell the users of tasks what a file says; raise if it lacks a task or a fact."""
    known = read_rewordings(path)
    for task in tasks:
        key = TaskKey.of(task)
        found = mapping(known, key.domain).get(key.task_id)
        if found is None:
            raise ConfigurationError(
                f"{path} has no rewording of {key}; `maseval tau2 tasks {key.domain} --reword "
                f"{path} --model MODEL` makes it"
            )
        if lost := lost_facts(task.user_data["instructions"], found):
            raise ConfigurationError(
                f"the rewording of {key} in {path} lacks {', '.join(lost)}; correct it"
            )
        task.user_data["instructions"] = found
