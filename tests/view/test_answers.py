import pytest

pytest.importorskip("starlette")

from maseval.view import Answers
from tests.view.builders import viewer

pytestmark = pytest.mark.needs(library="starlette")

WEIGHTS = Answers("weights", {"/api/weight": lambda library, query: {"heard": query["of"]}})


def test_a_long_answer_is_compressed_and_a_short_one_is_not(tmp_path):
    client = viewer(tmp_path, features=[WEIGHTS])

    long, short = (client.get("/api/weight", params={"of": "a" * n}) for n in (5000, 5))

    assert (long.headers["content-encoding"], long.json()) == ("gzip", {"heard": "a" * 5000})
    assert int(long.headers["content-length"]) < 200
    assert "content-encoding" not in short.headers
    assert client.get("/api/runs").json()["features"] == ["weights"]
