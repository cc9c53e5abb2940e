"""A viewer of a folder, to be asked without a network."""

import threading
from pathlib import Path

from starlette.testclient import TestClient

from maseval.view.app import create_app

ADDRESS = "http://127.0.0.1"

PAGE = {"origin": ADDRESS, "content-type": "application/json"}
"""What the viewer's own page sends along when it writes."""

NOT_OUR_PAGE = [
    ({}, 403),
    ({"content-type": "application/json"}, 403),
    ({**PAGE, "origin": "http://evil.example"}, 403),
    ({**PAGE, "origin": "null"}, 403),
    ({**PAGE, "sec-fetch-site": "cross-site"}, 403),
    ({**PAGE, "sec-fetch-site": "same-site"}, 403),
    ({**PAGE, "content-type": "text/plain"}, 415),
    ({**PAGE, "host": "evil.example", "origin": "http://evil.example"}, 421),
]
"""Headers of others, and the status with which they are refused."""


def viewer(root: Path, **options: object) -> TestClient:
    """The viewer of a folder."""
    return TestClient(create_app(root, **options), base_url=ADDRESS, follow_redirects=False)


def finish_background_work(name: str) -> None:
    """Wait for the threads of that name: ``maseval-labels`` or ``maseval-search``."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()
