"""A viewer of a folder, to be asked without a network."""

from pathlib import Path

from starlette.testclient import TestClient

from maseval.view import create_app

ADDRESS = "http://127.0.0.1"


def viewer(root: Path, **options: object) -> TestClient:
    """The viewer of a folder."""
    return TestClient(create_app(root, **options), base_url=ADDRESS, follow_redirects=False)
