"""Notes on simulations: read by every page, and written where the viewer was started to be."""

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from maseval.core.recorded import Shape
from maseval.runs.notes import SimulationNote, add_note, read_notes
from maseval.view.library import Library
from maseval.view.requests import Json, read_body, required_parts, simulation_in

NOTES_PATH = "/api/notes"


async def notes_endpoint(request: Request) -> Response:
    """Answer with the notes of a run; after a POST, which the guard let pass, with the new one."""
    library: Library = request.app.state.library
    (name,) = required_parts(request.query_params, "run")
    if request.method == "POST":
        given = await read_body(request, "note")
        await run_in_threadpool(_keep, library, name, given)
    found = await run_in_threadpool(lambda: read_notes(library.path_of(name)))
    return Json({"notes": [*map(_shown, found)], "writes": request.app.state.writes})


def _keep(library: Library, name: str, given: Shape) -> None:
    one = simulation_in(given, "note")
    by, text, about = (str(given.get(part) or "") for part in ("by", "text", "about"))
    # This raises if there is no such simulation: a note on nothing would never be shown.
    library.run(name).trials(one.domain, one.task_id, str(one.trial))
    disagrees = given.get("disagrees") is True
    add_note(library.path_of(name), SimulationNote(one, by, text, about, disagrees))


def _shown(note: SimulationNote) -> dict[str, object]:
    return {**note.to_record(), "simulation": note.simulation._asdict()}
