"""Viewing runs in the browser, with libraries beyond the bare install."""

from maseval.interface import extras


def check_viewer() -> None:
    """Raise if the viewer's libraries are not installed."""
    for module in ("starlette", "uvicorn"):
        extras.load(module, extra="view")
