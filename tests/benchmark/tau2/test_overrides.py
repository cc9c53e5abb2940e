"""Hooks that a subclass of the environment overrides: followed live, apart from verdicts."""

import functools
import json
from collections.abc import Callable
from typing import Any

from maseval import AgentAdapter
from maseval.benchmark.tau2 import Tau2Environment, score_simulation
from maseval.benchmark.tau2.benchmark import Tau2Benchmark
from maseval.benchmark.tau2.domains.domain import Domain
from maseval.benchmark.tau2.results import export_results
from maseval.benchmark.tau2.review.timeline import timeline
from maseval.core.messages import tool_call
from tests.benchmark.tau2.rooms import Live, action, conversation, room_task


class Scribbling(Tau2Environment):
    """Adds a note, a write past the original's tools and one through them; wraps ``look``."""

    notes: list[str]

    def create_tools(self) -> dict[str, Callable[..., str]]:
        tools = super().create_tools()
        self.notes = []
        look = tools["look"]

        def note(text: str) -> int:
            """Keep a note.

            Args:
                text: What to keep.
            """
            self.notes.append(text)
            return len(self.notes)

        def scribble(colour: str) -> str:
            """Scribble on the wall."""
            self.db.wall = colour
            return "done"

        def paint_twice(colour: str) -> str:
            """Paint two coats."""
            return tools["paint"](colour) + self.make_tool_call("paint", colour=colour, coats=2)

        @functools.wraps(look)
        def closer_look():
            return look() + " (closely)"

        added = {"note": note, "scribble": scribble, "paint_twice": paint_twice}
        return {**tools, **added, "look": closer_look}


def of_class(environment_class: type[Any], benchmark: type[Any] = Live) -> type[Any]:
    class Own(benchmark):
        def setup_environment(self, agent_data, task, seed_generator):
            return environment_class(task.environment_data)

    return Own


def run(
    room: Domain,
    environment_class: type[Any],
    calls: list[tuple[str, dict[str, str]]],
    *gold: dict[str, Any],
    **settings: Any,
) -> tuple[Live, dict[str, Any]]:
    task = room_task(room, *gold, reward_basis=["DB"])
    script = [
        *(tool_call(name, arguments, id=f"c{n}") for n, (name, arguments) in enumerate(calls))
    ]
    live = of_class(environment_class)([*script, "Bye."], ["Paint it.", "###STOP###"], **settings)
    (report,) = live.run([task])
    assert report["status"] == "success", report["error"]
    return live, report


def answers(report: dict[str, Any]) -> list[str]:
    return [each["content"] for each in conversation(report) if each["role"] == "tool"]


def test_the_reference_agent_is_offered_added_tools_and_gets_their_answers(room):
    live, report = run(
        room,
        Scribbling,
        [("note", {"text": "white"}), ("look", {}), ("paint", {"colour": "red"})],
        action("paint", colour="red"),
    )

    offered = {tool["function"]["name"]: tool for tool in live.requests("agent_model")[0]["tools"]}
    assert list(offered) == ["look", "paint", "note", "scribble", "paint_twice"]
    assert offered["note"]["function"]["parameters"]["required"] == ["text"]
    assert offered["look"]["function"]["description"] == "Look at the room."
    assert answers(report) == ['"1"', '{"wall": "white", "coats": 1} (closely)', "The wall is red."]
    (verdict,) = report["eval"]
    assert verdict["passed"] and verdict["env_check"]["db_match"]
    assert "(note, look)" in verdict["overrides"] and "wrote" not in verdict["overrides"]
    assert report["config"]["environment"]["overridden_hooks"] == ["create_tools"]


def test_a_function_agent_calls_the_same_tools_and_is_recorded_alike(room):
    class Caretaker(AgentAdapter):
        def _run_agent(self, query):
            tools = self.agent
            return " ".join([tools["note"]("white"), tools["look"](), tools["paint"]("red")])

    class Textual(of_class(Scribbling, Tau2Benchmark)):
        def setup_agents(self, agent_data, environment, task, user, seed_generator):
            agent = Caretaker(environment.tools, "caretaker")
            return [agent], {"caretaker": agent}

        def get_model_adapter(self, model_id, **kwargs):
            return Live([], ["Paint it.", "###STOP###"]).get_model_adapter(model_id, **kwargs)

    task = room_task(room, action("paint", colour="red"), reward_basis=["DB"])
    (report,) = Textual(progress_bar=False).run([task])

    assert report["eval"][0]["passed"]
    spoken = [each for each in conversation(report) if each["role"] == "assistant"]
    assert [c["name"] for each in spoken for c in each["tool_calls"] or ()] == [
        "note",
        "look",
        "paint",
    ]
    assert answers(report) == ['"1"', '{"wall": "white", "coats": 1} (closely)', "The wall is red."]


def test_what_an_added_tool_writes_past_the_originals_is_not_counted_and_said(room):
    _, report = run(
        room,
        Scribbling,
        [("scribble", {"colour": "red"}), ("look", {})],
        action("paint", colour="red"),
    )

    assert answers(report)[1] == '{"wall": "red", "coats": 1} (closely)', "live, it is red"
    (verdict,) = report["eval"]
    assert not verdict["passed"] and not verdict["env_check"]["db_match"]
    assert "what scribble wrote in another way does not count" in verdict["overrides"]


def test_what_an_added_tool_does_through_the_originals_tools_counts(room):
    gold = action("paint", colour="red", coats=2)
    _, report = run(room, Scribbling, [("paint_twice", {"colour": "red"})], gold)

    (verdict,) = report["eval"]
    assert verdict["passed"] and verdict["action_check"]["all_matched"]
    assert "original's tools: 2 calls." in verdict["overrides"]


def test_a_wrapper_that_changes_nothing_leaves_no_trace(room):
    class Logging(Tau2Environment):
        def create_tools(self):
            def logged(tool):
                return lambda **arguments: tool(**arguments)

            return {name: logged(tool) for name, tool in super().create_tools().items()}

    calls = [("paint", {"colour": "black"}), ("paint", {"colour": "red"})]
    live, wrapped = run(room, Logging, calls, action("paint", colour="red"))
    plain_live, plain = run(room, Tau2Environment, calls, action("paint", colour="red"))

    def facts(report):
        ours = ("role", "content", "tool_calls", "error", "override")
        return [{key: each.get(key) for key in ours} for each in conversation(report)]

    assert facts(wrapped) == facts(plain)
    assert wrapped["eval"] == plain["eval"]
    assert live.requests("agent_model") == plain_live.requests("agent_model")


def test_a_tool_that_is_left_out_is_neither_offered_nor_found(room):
    class Blind(Tau2Environment):
        def create_tools(self):
            return {name: tool for name, tool in super().create_tools().items() if name != "look"}

    live, report = run(room, Blind, [("look", {})], action("paint", colour="red"))

    assert len(live.requests("agent_model")[0]["tools"]) == 1
    assert answers(report) == ["Error: Tool 'look' not found."]


def test_make_tool_call_and_sync_tools_are_asked_for_every_call_of_both_sides(room):
    class Watched(Tau2Environment):
        def sync_tools(self):
            vars(self).setdefault("seen", []).append("sync")
            super().sync_tools()

        def make_tool_call(self, tool_name, requestor="assistant", **kwargs):
            self.seen.append((tool_name, requestor, dict(kwargs)))
            if tool_name == "paint":
                kwargs["colour"] = "blue"
            return super().make_tool_call(tool_name, requestor, **kwargs)

    made = []

    class Keeping(Watched):
        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)
            made.append(self)

    task = room_task(room, action("paint", colour="blue"), reward_basis=["DB"])
    user = ["Paint it.", tool_call("press_switch"), "###STOP###"]
    live = of_class(Keeping)([tool_call("paint", {"colour": "red"}), "Red."], user)
    (report,) = live.run([task])

    seen = made[0].seen
    assert ("paint", "assistant", {"colour": "red"}) in seen
    assert ("press_switch", "user", {}) in seen
    for index, entry in enumerate(seen):
        assert entry == "sync" or seen[index + 1] == "sync"
    assert answers(report)[0] == "The wall is blue."
    (verdict,) = report["eval"]
    assert verdict["env_check"]["agent_db_match"] and not verdict["env_check"]["user_db_match"]
    assert "1 answer came from" in verdict["overrides"]


def test_a_recording_is_judged_by_the_same_calls_and_a_results_file_says_that_it_cannot_be(
    room, tmp_path, caplog
):
    gold = action("paint", colour="red", coats=2)
    _, report = run(
        room, Scribbling, [("note", {"text": "a"}), ("paint_twice", {"colour": "red"})], gold
    )
    task = room_task(room, gold, reward_basis=["DB"])
    recorded = report["traces"]["environment"]["simulation"]

    again = score_simulation(recorded, domain=room, task=task)
    assert (again["reward"], again["info"]["overrides"]) == (1.0, report["eval"][0]["overrides"])
    damaged = [{**m, "override": 3} if "override" in m else m for m in recorded["messages"]]
    judged = score_simulation({**recorded, "messages": damaged}, domain=room, task=task)
    assert "Tool 'note' not found" in judged["info"]["replay_error"]["error"]
    steps = timeline(recorded, room, task)
    assert "red" in [each.found for each in steps.moments[-1].from_start]
    repeated = [call for moment in steps.moments for call in moment.calls]
    assert [(each.call["name"], each.mismatch) for each in repeated if each.made] == [
        ("paint", None),
        ("paint", None),
    ]

    export_results([report], tmp_path / "results.json", domain=room)
    assert "1 of 1 simulations have answers of tools that the run's environment" in caplog.text
    (exported,) = json.loads((tmp_path / "results.json").read_text())["simulations"]
    assert not any("override" in message for message in exported["messages"])
    judged = score_simulation(exported, domain=room, task=task)
    assert "Tool 'note' not found" in judged["info"]["replay_error"]["error"]
