"""Who follows a run from outside, if anybody does; what that takes is loaded only then."""

from pathlib import Path

from maseval.commands.folder_options import FolderRunOptions
from maseval.commands.follower import Follower


def check_followers(options: FolderRunOptions) -> None:
    """Raise if the run cannot be sent where the options say."""
    if options.otel or options.track:
        from maseval.commands.destinations import destinations_of

        destinations_of(options.track, otel=options.otel)


def follower_of(options: FolderRunOptions, folder: Path) -> Follower:
    """What sends the run in ``folder`` where the options say."""
    if not (options.otel or options.track):
        return Follower()
    from maseval.commands.destinations import destinations_of
    from maseval.commands.tracking import Tracking

    destinations = destinations_of(options.track, otel=options.otel)
    return Tracking(destinations, folder, content=options.otel_content)
