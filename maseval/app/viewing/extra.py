"""What the viewer needs beyond the bare install."""

from maseval.interface import extras


def check_viewer() -> None:
    """Raise if it is not installed."""
    for module in ("starlette", "uvicorn"):
        extras.load(module, extra="view")
