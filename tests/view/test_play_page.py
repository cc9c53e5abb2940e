"""Play over the viewer's server, as its page does it."""

import pytest

pytest.importorskip("starlette")

from maseval.benchmark.tau2.app.running.options import PlayOptions
from maseval.benchmark.tau2.app.running.play_page import PlayHost
from maseval.commands import tau2
from maseval.runs import RunFolder, run_state
from tests.view.builders import ADDRESS, viewer
from tests.waiting import wait_until

pytestmark = pytest.mark.needs(library="starlette")

OURS = {"origin": ADDRESS}
TASK = "renew_own_not_husbands"
WISH = {"domain": "library", "task": TASK, "side": "agent", "other": "scripted"}
GOLD = [
    ("get_member", {"card_number": "B 1184 2011"}),
    ("get_account", {"member_id": "M-2011"}),
    ("renew_loan", {"loan_id": "L-5001"}),
]


class Player:
    """A page that plays."""

    def __init__(self, client):
        self.client, self.state = client, {}

    def send(self, path, **body):
        body = {"play": self.state.get("play"), **body}
        return self.client.post(f"/api/play/{path}", json=body, headers=OURS)

    def begin(self, **wish):
        answer = self.send("start", **{**WISH, **wish})
        assert answer.status_code == 200, answer.text
        self.state = answer.json()
        return self.wait(seen=0)

    def wait(self, seen=None):
        """Until it is this side's turn, or all is over."""
        seen = self.state["version"] if seen is None else seen
        while True:
            self.state = self.look(seen)
            if self.state["version"] > seen and (self.state["your_turn"] or self.state["over"]):
                return self.state

    def look(self, seen):
        query = {"play": self.state["play"], "seen": seen}
        answer = self.client.get("/api/play/state", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()


@pytest.fixture
def client(tmp_path):
    with viewer(tmp_path, features=[PlayHost().feature()]) as client:
        yield client


def test_the_gold_solution_played_in_the_page_passes(client, tmp_path):
    player = Player(client)
    state = player.begin()
    assert "Brackenford" in state["briefing"]["text"]
    for name, written in GOLD:
        assert player.send("call", name=name, arguments=written).status_code == 200
        state = player.wait()
        assert state["messages"][-1]["who"] == "tool"
    player.send("stop", text="Your book is renewed. Goodbye.")
    state = player.wait()

    assert state["judged"] and "the agent has ended it" in state["over"]
    [row] = client.get("/api/runs").json()["runs"]
    assert row["name"] == state["run"] and row["state"] == "complete"
    assert row["pass_1"]["value"] == 1 and "human" in row["models"]
    packet = {"run": state["run"], "domain": "library", "task": TASK}
    assert client.get("/api/run/packet", params=packet).json()["trials"]


def test_tools_are_forms_and_what_does_not_fit_is_refused(client, tmp_path):
    player = Player(client)
    tools = {each["name"]: each for each in player.begin()["briefing"]["tools"]}
    [field] = tools["renew_loan"]["fields"]
    assert (field["name"], field["kind"], field["required"]) == ("loan_id", "text", True)

    for body, words in (
        ({"name": "renew_loan", "arguments": {}}, "loan_id is empty"),
        ({"name": "fly", "arguments": {}}, "no tool 'fly'"),
        ({"name": "renew_loan", "arguments": ["L-1"]}, "object of texts"),
        ({"name": "renew_loan", "arguments": {"loan_id": 3}}, "object of texts"),
    ):
        answer = player.send("call", **body)
        assert answer.status_code in (400, 422) and words in answer.json()["error"]
    assert player.send("say", text=" ").status_code == 422
    assert len(player.look(0)["messages"]) == 2


def test_a_reloaded_page_gets_everything_again(client):
    player = Player(client)
    player.begin()
    player.send("say", text="Hello?")
    player.wait()

    again = player.look(0)

    assert again["briefing"]["tools"] and "Hello?" in [each["text"] for each in again["messages"]]
    assert "briefing" not in player.look(again["version"] - 1)


def test_the_customers_instructions_are_for_the_customer_alone(client):
    secret = "Ask for your own book first"

    assert secret not in str(Player(client).begin())
    assert secret in Player(client).begin(side="user", other="gold")["briefing"]["text"]


def test_two_pages_play_without_disturbing_each_other(client):
    one, other = Player(client), Player(client)
    one.begin()
    other.begin()
    one.send("say", text="Alpha")
    one.wait()
    other.send("say", text="Omega")
    other.wait()

    assert one.state["run"] != other.state["run"]
    assert "Omega" not in str(one.look(0)) and "Alpha" not in str(other.look(0))


def test_what_is_interrupted_or_given_up_is_recorded(client, tmp_path):
    player = Player(client)
    player.begin()
    player.send("leave")
    assert not player.wait()["judged"]
    assert run_state(tmp_path / player.state["run"]).state == "incomplete"
    player.begin()
    player.send("give-up")
    assert player.wait()["judged"]
    assert [*RunFolder.read(tmp_path / player.state["run"]).recorded.values()] == ["agent_error"]


def test_when_the_server_ends_what_is_being_played_is_recorded(tmp_path):
    with viewer(tmp_path, features=[PlayHost().feature()]) as client:
        player = Player(client)
        player.begin()
        player.send("say", text="Hello?")
        player.wait()

    state = run_state(tmp_path / player.state["run"])
    assert (state.state, state.failed) == ("incomplete", 1)


def test_a_simulation_that_nobody_looks_at_is_interrupted(tmp_path):
    with viewer(tmp_path, features=[PlayHost(patience=0.05).feature()]) as client:
        player = Player(client)
        folder = tmp_path / player.begin()["run"]
        wait_until(lambda: run_state(folder).state == "incomplete")

        assert run_state(folder).failed == 1


def test_a_model_of_the_command_line_is_offered_and_no_other(tmp_path):
    options = PlayOptions(user_model="scripted/none.json")
    with viewer(tmp_path, features=[PlayHost(options).feature()]) as client:
        offered = client.get("/api/play/choices").json()
        player = Player(client)

        assert offered["others"]["agent"] == ["scripted", "scripted/none.json"]
        refused = player.send("start", **{**WISH, "other": "openai/gpt-4.1"})
        assert refused.status_code == 400 and "can play against" in refused.json()["error"]


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"domain": "evil.py:DOMAIN"}, 400),
        ({"domain": "../library"}, 400),
        ({"domain": None}, 400),
        ({"task": "no_such"}, 422),
        ({"task": 3}, 400),
        ({"side": "referee"}, 400),
        ({"other": "evil.py:agent", "side": "user"}, 400),
    ],
)
def test_what_cannot_be_played_is_refused_and_leaves_nothing(client, tmp_path, wish, status):
    answer = Player(client).send("start", **{**WISH, **wish})

    assert answer.status_code == status and answer.json()["error"]
    assert list(tmp_path.iterdir()) == []


def test_only_our_own_page_plays_and_only_by_post(client):
    assert client.post("/api/play/start", json=WISH).status_code == 403
    foreign = {"origin": "http://evil.example"}
    assert client.post("/api/play/start", json=WISH, headers=foreign).status_code == 403
    assert client.get("/api/play/start").status_code == 405
    assert client.get("/api/play/state", params={"play": "guessed"}).status_code == 404
    assert client.post("/api/run/tags", json={}, headers=OURS).status_code == 403


def test_only_what_is_here_is_offered_each_domain_in_a_release_that_has_it(
    client, tmp_path, monkeypatch
):
    monkeypatch.setenv("MASEVAL_CACHE_DIR", str(tmp_path / "nothing"))

    offered = client.get("/api/play/choices").json()

    assert "library" in offered["domains"]
    assert {"retail", "banking_knowledge"} <= set(offered["missing"])
    assert not set(offered["domains"]) & set(offered["missing"])
    assert PlayHost()._version("banking_knowledge") == "1.0.1"
    assert PlayHost(PlayOptions(data_version="1.0.1"))._version("retail") == "1.0.1"


@pytest.mark.parametrize(("side", "other"), [("agent", "scripted"), ("user", "gold")])
def test_a_person_takes_over_a_recorded_conversation(tmp_path, client, side, other):
    recorded = tau2.run(domain="library", task_id=[TASK], agent="noop", output=tmp_path / "noop")
    [report] = RunFolder.read(recorded.folder).reports()
    past = report["traces"]["environment"]["simulation"]["messages"][:2]
    player = Player(client)

    state = player.begin(side=side, other=other, run="noop", trial=0, at=1)

    said = [each["text"] for each in state["messages"]]
    assert said[: len(past)] == [each["content"] for each in past]
    player.send("give-up" if side == "agent" else "stop", text="bye")
    wait_until(lambda: player.look(0)["over"], "the end")
    origin = RunFolder.read(tmp_path / player.state["run"]).config.values["origin"]
    assert (origin["run"], origin["trial"], origin["at"]) == ("noop", 0, 1)


def test_what_cannot_be_taken_over_is_refused_and_leaves_no_folder(tmp_path, client):
    tau2.run(domain="library", task_id=[TASK], agent="noop", output=tmp_path / "noop")

    for wrong in ({"at": 999}, {"at": "1"}, {"trial": 7}, {"run": "../noop"}):
        wish = {**WISH, "run": "noop", "trial": 0, "at": 1, **wrong}
        answer = Player(client).send("start", **wish)
        assert answer.status_code in (400, 404, 422) and answer.json()["error"]
    assert [each.name for each in tmp_path.iterdir()] == ["noop"]
