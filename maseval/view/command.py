"""``maseval view``: all runs of a folder as a page on this machine."""

import ipaddress
import os
import secrets
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote, unquote

from maseval.app.results.names import UnknownRunError, run_path
from maseval.interface import extras
from maseval.runs import default_root
from maseval.runs.config_file import is_run_folder

LOCAL = "127.0.0.1"
DEFAULT_PORT = 8766


class Viewer(NamedTuple):
    """A server that listens already, and the address of the page to open first.

    ``server`` is a ``maseval.view.serving.ViewServer``: a context manager that serves in a thread.
    """

    server: Any
    address: str
    folder: Path


def view(
    folder: str | os.PathLike[str] | None = None,
    *,
    host: str = LOCAL,
    port: int = DEFAULT_PORT,
    writes: bool = False,
) -> Viewer:
    """Serve the runs below a folder; of a run or a results file, those beside it too.

    Args:
        folder: A folder of runs, or a run or results file to begin with; by default ``runs``.
        host: Where to listen. Other machines need the token in the address.
        port: The port; 0 is any that is free.
        writes: Take notes and labels; of one run, open the page on which people label it.
    """
    _check_libraries()
    from maseval.view.app import create_app
    from maseval.view.safety import LOCAL_NAMES
    from maseval.view.serving import ViewServer

    root, first = _begin(folder)
    if writes:
        first = first.replace("/run/", "/label/", 1)
    # On this machine, whoever can connect could read the files as well.
    token = None if _is_local(host) else secrets.token_urlsafe(24)
    app = create_app(root, token=token, hosts=LOCAL_NAMES if token is None else None, writes=writes)
    server = ViewServer(app, host=host, port=port, token=token)
    return Viewer(server, server.address(first), root)


def export_site(
    target: str | os.PathLike[str],
    folder: str | os.PathLike[str] | None = None,
    *,
    on_progress: Callable[[str], object] = lambda words: None,
) -> Any:
    """Write the viewer of a folder as a site of files, which needs no server and no network.

    Return a ``maseval.view.site.Site``, which says where it is and how large.

    Args:
        target: The folder to write: a new one, an empty one, or such a site, which is renewed.
        folder: A folder of runs, or one run or results file; by default ``runs``.
        on_progress: Called with how far it is, in words.
    """
    _check_libraries()
    from maseval.view.library import Library
    from maseval.view.site import write_site

    root, first = _begin(folder)
    names = None if first == "/" else [unquote(first.removeprefix("/run/"))]
    return write_site(target, Library(root, follows_links=True), names, on_progress)


def _check_libraries() -> None:
    for module in ("starlette", "uvicorn"):
        extras.load(module, extra="view")


def _begin(folder: str | os.PathLike[str] | None) -> tuple[Path, str]:
    """Return the folder that is viewed, and the page to begin with."""
    path = default_root() if folder is None else Path(folder)
    if path.is_dir() and not is_run_folder(path):
        return path, "/"
    if not path.is_file():
        try:
            path = run_path(path)
        except UnknownRunError:
            raise UnknownRunError(
                f"{path} is neither a folder of runs nor a run or results file; `maseval demo` "
                "makes a run"
            ) from None
    path = Path(os.path.abspath(path))
    return path.parent, f"/run/{quote(path.name)}"


def _is_local(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
