"""Play in the viewer's page: simulations of which a person in a browser plays one side.

Each lives in a thread of the server, so it survives a reload of the page. Whoever knows its key
plays it; one that nobody looks at any more is interrupted, and what happened is kept.
"""

import secrets
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from maseval.app.running.folder_run import new_folder
from maseval.benchmark.tau2.app.running.options import PlayOptions
from maseval.benchmark.tau2.app.running.origin import Origin, find_origin
from maseval.benchmark.tau2.app.running.play import SIDES, Play, play, take_over
from maseval.benchmark.tau2.app.running.tasks import tasks
from maseval.benchmark.tau2.app.running.tool_forms import fields_of, read_form
from maseval.benchmark.tau2.data import UnknownVersionError
from maseval.benchmark.tau2.data.files import are_fetched
from maseval.benchmark.tau2.domains import domain_named, domain_names
from maseval.benchmark.tau2.domains.releases import release_named
from maseval.benchmark.tau2.formats.message import Tau2Message, tool_calls_of
from maseval.benchmark.tau2.players.agent import PLAYERS
from maseval.core.agent import HUMAN
from maseval.core.exceptions import MASEvalError
from maseval.view.api import Answers, Body, Query, required_text
from maseval.view.exceptions import BadRequestError, NothingThereError
from maseval.view.library import Library

# The page asks again whenever it got an answer, so an open page asks at least that often.
_LONG_POLL = 10.0
_ABANDONED = 300.0
_TICK = 5.0
_MOST = 20
SCRIPTED = "scripted"


@dataclass
class _Game:
    """A simulation in progress, or over, and the time of the last request of its page."""

    key: str
    play: Play
    run: str
    last_request: float = field(default_factory=time.monotonic)

    def to_json(self, seen: int = 0) -> dict[str, object]:
        """Return the state for the page; the briefing only for one that has seen nothing."""
        view, simulation = self.play.seat.view, self.play.simulation
        state: dict[str, object] = {
            "version": view.version,
            "messages": [_message(each) for each in view.messages],
            "your_turn": view.your_turn,
            "over": view.over,
            "domain": simulation.domain,
            "task": simulation.task_id,
            "other": self.play.other,
            "play": self.key,
            "run": self.run,
        }
        if view.over is not None:
            state |= _ending(self.play)
        if view.briefing is not None and seen == 0:
            side = next(name for name, role in SIDES.items() if role == view.briefing.side)
            tools = [_form(tool) for tool in view.briefing.tools]
            state["briefing"] = {"side": side, "text": view.briefing.text, "tools": tools}
        return state

    def say(self, body: Body) -> None:
        """Say the text of a request."""
        self.play.seat.say(required_text(body, "text"))

    def call(self, body: Body) -> None:
        """Call a tool with the texts of its form."""
        name, texts = required_text(body, "name"), body.get("arguments")
        if not isinstance(texts, dict) or not all(isinstance(each, str) for each in texts.values()):
            raise BadRequestError("arguments must be an object of texts")
        briefing = self.play.seat.view.briefing
        for tool in briefing.tools if briefing else ():
            if tool["function"]["name"] == name:
                return self.play.seat.call_tool(name, read_form(tool, texts))
        raise BadRequestError(f"there is no tool {name!r}")

    def stop(self, body: Body) -> None:
        """End the conversation."""
        self.play.seat.finish(str(body.get("text") or ""), str(body.get("way") or "stop"))


class PlayHost:
    """All simulations that are played in pages of this server.

    Args:
        options: The options of the command line: further players of the other side, and limits.
        patience: Seconds without a request of its page after which a simulation is interrupted.
    """

    def __init__(self, options: PlayOptions | None = None, patience: float = _ABANDONED) -> None:
        self._options = options or PlayOptions()
        self._patience = patience
        self._games: dict[str, _Game] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._watch: threading.Thread | None = None

    def feature(self) -> Answers:
        """Return the answers to the requests of the page."""
        return Answers(
            "play",
            asked={
                "/api/play/choices": self._choices,
                "/api/play/tasks": self._tasks,
                "/api/play/state": self._state,
            },
            sent={
                "/api/play/start": self._start,
                "/api/play/say": self._move(_Game.say),
                "/api/play/call": self._move(_Game.call),
                "/api/play/stop": self._move(_Game.stop),
                "/api/play/give-up": self._move(lambda game, body: game.play.seat.give_up()),
                "/api/play/leave": self._move(lambda game, body: game.play.interrupt()),
            },
            writes=True,
            close=self.close,
        )

    def close(self) -> None:
        """Interrupt what is being played; what happened is recorded."""
        self._closed.set()
        for game in self._list():
            game.play.interrupt()

    def _list(self) -> list[_Game]:
        with self._lock:
            return list(self._games.values())

    def _others(self) -> dict[str, list[str]]:
        """Return the possible players of the other side, by the side that the person plays."""
        given = self._options
        own = given.agent if isinstance(given.agent, str) and ":" in given.agent else None
        return {
            "agent": [SCRIPTED, *filter(None, [given.user_model])],
            "user": [*PLAYERS, *filter(None, [given.agent_model, own])],
        }

    def _choices(self, library: Library, query: Query) -> Mapping[str, object]:
        return {
            "domains": [name for name in domain_names() if self._is_here(name)],
            "missing": [name for name in domain_names() if not self._is_here(name)],
            "others": self._others(),
            "named": {
                "agent": bool(self._options.user_model),
                "user": len(self._others()["user"]) > len(PLAYERS),
            },
            "domain": self._options.domain,
            "task": self._options.task_id,
            "side": self._options.side,
        }

    def _version(self, name: str) -> str:
        """Return the release that was asked for, or the domain's own if that has no such domain."""
        try:
            release_named(self._options.data_version).domain(name)
        except UnknownVersionError:
            return domain_named(name).version
        return self._options.data_version

    def _is_here(self, name: str) -> bool:
        """Return whether a domain can be played without fetching its files."""
        domain = release_named(self._version(name)).tasks.domain(name)
        return domain.data_dir is not None or are_fetched(domain.folder_name, domain.version)

    def _tasks(self, library: Library, query: Query) -> Mapping[str, object]:
        name = _domain(query)
        found = tasks(name, self._options.split, data_version=self._version(name))
        return {"tasks": [{"id": each.task_id, "reason": each.reason} for each in found]}

    def _start(self, library: Library, body: Body) -> Mapping[str, object]:
        if sum(not game.play.is_over for game in self._list()) >= _MOST:
            raise BadRequestError(f"{_MOST} simulations are being played; end one of them first")
        side, other = required_text(body, "side"), required_text(body, "other")
        if other not in self._others().get(side, ()):
            raise BadRequestError(f"nobody called {other!r} can play against {side!r}")
        origin = _origin(library, body) if "run" in body else None
        name = f"{datetime.now():%Y%m%d-%H%M%S}-{_domain(body)}-{HUMAN}"
        output = new_folder(library.root / name)
        try:
            given = {**self._play_options(body, side, other), "output": output}
            begun = play(**given) if origin is None else take_over(PlayOptions(**given), origin)
        except BaseException:
            output.rmdir()
            raise
        game = _Game(secrets.token_urlsafe(16), begun, output.relative_to(library.root).as_posix())
        with self._lock:
            self._games[game.key] = game
        begun.start()
        self._watch_over()
        return game.to_json()

    def _play_options(self, body: Body, side: str, other: str) -> dict[str, Any]:
        given = {each.name: getattr(self._options, each.name) for each in fields(PlayOptions)}
        models = {f"{name}{part}": None for name in ("agent", "user") for part in ("", "_model")}
        return {
            **{name: value for name, value in given.items() if name != "output"},
            **models,
            f"{side}_args": None,
            **self._other_options(side, other),
            "domain": _domain(body),
            "data_version": self._version(_domain(body)),
            "task_id": required_text(body, "task"),
            "side": side,
        }

    def _other_options(self, side: str, other: str) -> dict[str, str | None]:
        if side == "agent":
            return {"user": other} if other == SCRIPTED else {"user": "llm", "user_model": other}
        if other in PLAYERS or ":" in other:
            return {"agent": other, "agent_args": None}
        return {"agent": "llm", "agent_model": other}

    def _game(self, named: Mapping[str, object]) -> _Game:
        with self._lock:
            game = self._games.get(str(named.get("play")))
        if game is None:
            raise NothingThereError("this simulation is not being played here; begin a new one")
        game.last_request = time.monotonic()
        return game

    def _state(self, library: Library, query: Query) -> Mapping[str, object]:
        """Return the state as soon as it is newer than the version that the page has seen."""
        game = self._game(query)
        seen = int(number) if (number := query.get("seen", "0")).isdecimal() else 0
        game.play.seat.wait(seen, _LONG_POLL)
        game.last_request = time.monotonic()
        return game.to_json(seen)

    def _move(self, act: Callable[[_Game, Body], object]) -> Callable[..., Mapping[str, object]]:
        """Return the answer to a request that acts in a simulation."""

        def answer(library: Library, body: Body) -> Mapping[str, object]:
            game = self._game(body)
            act(game, body)
            return {"play": game.key}

        return answer

    def _watch_over(self) -> None:
        with self._lock:
            if self._watch is None:
                self._watch = threading.Thread(
                    target=self._close_abandoned, daemon=True, name="maseval-play"
                )
                self._watch.start()

    def _close_abandoned(self) -> None:
        while not self._closed.wait(min(_TICK, self._patience)):
            for game in self._list():
                if time.monotonic() - game.last_request > self._patience:
                    game.play.interrupt()


def _domain(named: Mapping[str, object]) -> str:
    """Return a domain that is known; a page may not have a file loaded."""
    domain = named.get("domain")
    if not isinstance(domain, str) or domain not in domain_names():
        raise BadRequestError(f"there is no domain {domain!r}")
    return domain


def _origin(library: Library, body: Body) -> Origin:
    """Return the recorded conversation that a person takes over, up to a message."""
    trial, at = body.get("trial"), body.get("at")
    if type(trial) is not int or type(at) is not int:
        raise BadRequestError("trial and at must be whole numbers")
    task = f"{_domain(body)}/{required_text(body, 'task')}"
    return find_origin(library.path_of(required_text(body, "run")), task, trial, at)


def _ending(play: Play) -> dict[str, object]:
    try:
        play.result()
    except MASEvalError as error:
        return {"problem": str(error), "judged": False}
    return {"judged": play.has_verdict, "outcome": play.outcome}


def _message(message: Tau2Message) -> dict[str, object]:
    return {
        "who": message["role"],
        "text": message.get("content"),
        "failed": bool(message.get("error")),
        "calls": [
            {"name": call["name"], "arguments": call["arguments"]}
            for call in tool_calls_of(message) or ()
        ],
    }


def _form(tool: Mapping[str, Any]) -> dict[str, object]:
    function = tool["function"]
    return {
        "name": function["name"],
        "description": function.get("description") or "",
        "fields": [each.to_json() for each in fields_of(tool)],
    }
