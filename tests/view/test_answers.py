import pytest

pytest.importorskip("starlette")

from maseval.core.exceptions import ConfigurationError
from maseval.view import Answers
from tests.view.builders import ADDRESS, viewer

pytestmark = pytest.mark.needs(library="starlette")

OURS = {"origin": ADDRESS}


def refuse(library, query):
    raise ConfigurationError("no run to weigh; make one")


WEIGHTS = Answers(
    "weights",
    asked={"/api/weight": lambda library, query: {"heard": query["of"]}, "/api/none": refuse},
    sent={"/api/weights/set": lambda library, body: {"set": body["grams"]}},
)


def test_a_function_answers_at_its_path(tmp_path):
    client = viewer(tmp_path, features=[WEIGHTS])

    assert client.get("/api/weight", params={"of": "a/b"}).json() == {"heard": "a/b"}
    assert "weights" in client.get("/api/runs").json()["features"]


def test_what_a_function_refuses_is_said_in_its_words(tmp_path):
    answer = viewer(tmp_path, features=[WEIGHTS]).get("/api/none")
    assert (answer.status_code, answer.json()) == (422, {"error": "no run to weigh; make one"})


def test_a_function_gets_the_object_that_was_sent(tmp_path):
    client = viewer(tmp_path, features=[WEIGHTS], edit=True)

    answer = client.post("/api/weights/set", json={"grams": 3}, headers=OURS)

    assert answer.json() == {"set": 3}


def test_a_long_answer_is_compressed_and_a_short_one_is_not(tmp_path):
    client = viewer(tmp_path, features=[WEIGHTS])

    long, short = (client.get("/api/weight", params={"of": "a" * n}) for n in (5000, 5))

    assert (long.headers["content-encoding"], long.json()) == ("gzip", {"heard": "a" * 5000})
    assert int(long.headers["content-length"]) < 200
    assert "content-encoding" not in short.headers
