"""The page itself: one HTML file for every address, and the modules of report and viewer."""

import re
from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from maseval.view.exceptions import NothingThereError

_NAME = re.compile(r"[a-z_]+\.(js|css)")
_TYPES = {"js": "text/javascript", "css": "text/css"}
_HOMES = {"": "maseval.report", "view/": "maseval.view"}
_SHELLS = ("/", "/run/{name:path}", "/compare", "/search", "/play")


def page_routes() -> list[BaseRoute]:
    """Every address that a reader may open, and what these pages load."""
    return [
        *(Route(path, _shell) for path in _SHELLS),
        Route("/assets/{name:path}", _asset),
        Route("/favicon.ico", _no_icon),
    ]


def _shell(request: Request) -> Response:
    return Response(_file("maseval.view", "view.html"), media_type="text/html")


def _asset(request: Request) -> Response:
    name: str = request.path_params["name"]
    home = "view/" if name.startswith("view/") else ""
    file = name.removeprefix(home)
    if not _NAME.fullmatch(file):
        raise NothingThereError(f"there is no asset {name!r}")
    try:
        content = _file(_HOMES[home], file)
    except FileNotFoundError:
        raise NothingThereError(f"there is no asset {name!r}") from None
    return Response(content, media_type=_TYPES[file.rpartition(".")[2]])


def _no_icon(request: Request) -> Response:
    return Response(status_code=204)


def _file(package: str, name: str) -> bytes:
    return files(package).joinpath("assets", name).read_bytes()
