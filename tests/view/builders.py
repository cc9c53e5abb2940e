"""A viewer of a folder, to be asked without a network."""

import threading
from pathlib import Path

from starlette.testclient import TestClient

from maseval.view.app import create_app

ADDRESS = "http://127.0.0.1"


def viewer(root: Path, **options: object) -> TestClient:
    """The viewer of a folder."""
    return TestClient(create_app(root, **options), base_url=ADDRESS, follow_redirects=False)


def finish_background_work(name: str) -> None:
    """Wait for the threads of that name: ``maseval-labels`` or ``maseval-search``."""
    for thread in threading.enumerate():
        if thread.name == name:
            thread.join()
