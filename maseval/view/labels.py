"""The labelling page: one conversation at a time, without what any judge says of it.

The viewer writes nothing unless it was started with ``write``; then only this page does, and only
labels. What is drawn follows from the request, so that the page can be closed at any time.
"""

from collections.abc import Mapping

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from maseval.app.benchmarks import support_for
from maseval.app.judging.label import USUAL_NUMBER, Labelling, begin_labelling
from maseval.core.exceptions import ConfigurationError
from maseval.core.outcome import RecordedReport, Simulation
from maseval.report.conversation import conversation
from maseval.view.library import Library
from maseval.view.requests import (
    Json,
    Query,
    number_in,
    read_body,
    required_parts,
    simulation_in,
)

LABEL = "/api/label"


def label_state(library: Library, query: Query) -> object:
    """Answer with the conversation to label next, and how far the labeller is."""
    return _state(_labelling(library, query))


async def label_endpoint(request: Request) -> Response:
    """Keep a label, and answer with what comes next and what the judge had said.

    The guard has checked that it comes from our own page.
    """
    library: Library = request.app.state.library
    given = await read_body(request, "label")
    one, answer, note = simulation_in(given, "label"), given.get("answer"), given.get("note")

    def keep() -> Mapping[str, object]:
        # Drawn anew for each request: another page may have labelled meanwhile.
        labelling = _labelling(library, request.query_params)
        if one not in labelling.chosen:
            raise ConfigurationError(f"{one} was not drawn; reload the page")
        labelling.add(one, str(answer), None if note is None else str(note))
        return {**_state(labelling), "said": labelling.judge_in_words(one)}

    return Json(await run_in_threadpool(keep))


def _labelling(library: Library, query: Query) -> Labelling:
    run, by = required_parts(query, "run", "by")
    numbers = number_in(query, "numbers", USUAL_NUMBER)
    about, judge = query.get("about") or None, query.get("judge") or None
    path = library.path_of(run)
    return begin_labelling(path, by, about=about, judge=judge, numbers=numbers)


def _state(labelling: Labelling) -> Mapping[str, object]:
    remaining = labelling.remaining
    state: dict[str, object] = {
        "question": labelling.question.text,
        "answers": [*labelling.question.answers, "unsure"],
        "total": len(labelling.chosen),
        "labelled": len(labelling.chosen) - len(remaining),
        "shares": [str(each) for each in labelling.shares],
        "agreement": labelling.agreements,
    }
    if remaining:
        state["next"] = _conversation(labelling, remaining[0])
    return state


def _conversation(labelling: Labelling, one: Simulation) -> Mapping[str, object]:
    report = labelling.folder.report(one)
    policies = support_for(labelling.folder).policies(labelling.folder)
    return {
        **one._asdict(),
        "wish": str(report["task"].get("query") or ""),
        "policy": next(iter(policies.get(one.domain, ())), ""),
        "messages": conversation(RecordedReport(report)),
    }
