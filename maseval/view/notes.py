"""Notes on simulations: read by every page, and written where the viewer was started to be."""

from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from maseval.core.outcome import Simulation
from maseval.core.storage import strict_json
from maseval.runs.notes import SimulationNote, add_note, read_notes
from maseval.view.library import Library
from maseval.view.query import BadRequestError, required_parts
from maseval.view.written import read_body

NOTES_PATH = "/api/notes"


async def notes_endpoint(request: Request) -> Response:
    """Answer with the notes of a run; after a POST, which the guard let pass, with the new one."""
    library: Library = request.app.state.library
    (name,) = required_parts(request.query_params, "run")
    if request.method == "POST":
        given = await read_body(request, "note")
        await run_in_threadpool(_keep, library, name, given)
    found = await run_in_threadpool(lambda: read_notes(library.path_of(name)))
    answer = {"notes": [_shown(each) for each in found], "writes": request.app.state.writes}
    return Response(strict_json.dumps(answer).encode("ascii"), media_type="application/json")


def _keep(library: Library, name: str, given: dict[str, Any]) -> None:
    try:
        one = Simulation(str(given["domain"]), str(given["task_id"]), int(given["trial"]))
        by, text, about = (str(given.get(part) or "") for part in ("by", "text", "about"))
    except (KeyError, TypeError, ValueError) as error:
        raise BadRequestError(f"this is no note: {error!s}") from error
    library.run(name).trials(one.domain, one.task_id, str(one.trial))  # raises if it is not there
    disagrees = given.get("disagrees") is True
    add_note(library.path_of(name), SimulationNote(one, by, text, about, disagrees))


def _shown(note: SimulationNote) -> dict[str, object]:
    return {**note.to_record(), "simulation": note.simulation._asdict()}
