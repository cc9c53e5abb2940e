"""Who follows a run from outside, if anybody does; what that takes is loaded only then."""

from pathlib import Path

from maseval.app.running.follower import Follower
from maseval.app.running.run_options import FolderRunOptions


def check_followers(options: FolderRunOptions) -> None:
    """Raise if the run cannot be sent where the options say."""
    if named := _named(options):
        from maseval.app.sharing.destinations import destinations_of

        destinations_of(named)


def follower_of(options: FolderRunOptions, folder: Path) -> Follower:
    """What sends the run in ``folder`` where the options say."""
    named = _named(options)
    if not named:
        return Follower()
    from maseval.app.running.tracking import Tracking
    from maseval.app.sharing.destinations import destinations_of

    return Tracking(destinations_of(named), folder, content=options.otel_content)


def _named(options: FolderRunOptions) -> list[str]:
    """The destinations, as ``--track`` names them."""
    if options.otel_endpoint is not None:
        return [*options.track, f"otel={options.otel_endpoint}"]
    return [*options.track, *(["otel"] if options.otel else [])]
