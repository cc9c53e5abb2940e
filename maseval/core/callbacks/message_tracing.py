"""Records messages: in memory for each run of an agent, or in a file for each repetition."""

from __future__ import annotations

import hashlib
import json
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

from maseval.core.agent import AgentAdapter
from maseval.core.callbacks.base import AgentCallback, BenchmarkCallback
from maseval.core.messages import Message, openai_form
from maseval.core.storage.files import write_json
from maseval.core.tracing import JsonObject
from maseval.core.words import count_of

if TYPE_CHECKING:
    from maseval.core.benchmark import Benchmark
    from maseval.core.report import Report

_SLUG_LENGTH = 60
_SHOWN = 100


class MessageTracingCallback(BenchmarkCallback):
    """Writes the messages of each repetition to a separate file in ``output_dir``.

    ``agents`` and ``user`` hold what each of them has seen; ``conversation`` is the complete one,
    if the environment keeps it as its ``simulation``. A file name starts with the task id, as far
    as file systems allow, and ends with a hash of run, task and repetition: no id can leave the
    folder, and no run replaces the files of another.
    """

    def __init__(self, output_dir: str | os.PathLike[str] = "./messages") -> None:
        self.output_dir = Path(output_dir)

    def on_task_repeat_end(self, benchmark: Benchmark, report: Report) -> None:
        user = _messages(report["traces"].get("user"))
        conversation = _messages((report["traces"].get("environment") or {}).get("simulation"))
        agents = report["traces"].get("agents") or {}
        said = {name: _messages(trace) for name, trace in agents.items()}
        write_json(
            self.path_of(report),
            {
                "task_id": report["task_id"],
                "repeat_idx": report["repeat_idx"],
                "run_id": report.get("run_id"),
                "started_at": report.get("started_at"),
                "status": report["status"],
                "agents": {name: messages for name, messages in said.items() if messages},
                "user": user,
                "conversation": conversation,
            },
        )

    def path_of(self, report: Report) -> Path:
        """Return the file that holds the messages of ``report``'s repetition."""
        task_id, repeat = report["task_id"], report["repeat_idx"]
        slug = re.sub(r"[^A-Za-z0-9_]+", "-", task_id)[:_SLUG_LENGTH].strip("-") or "task"
        # Two ids may differ only in characters that no file name can have.
        identity = json.dumps([report.get("run_id"), task_id, repeat]).encode()
        return (
            self.output_dir / f"{slug}-r{repeat}-{hashlib.sha256(identity).hexdigest()[:10]}.json"
        )


def _messages(trace: JsonObject | None) -> list[Message]:
    return list((trace or {}).get("messages") or [])


class MessageTracingAgentCallback(AgentCallback):
    """Remembers the conversation at the end of each run of an agent.

    One instance may serve many agents in many threads. ``verbose`` prints a line for each run.
    """

    def __init__(self, include_metadata: bool = True, verbose: bool = False) -> None:
        self.include_metadata = include_metadata
        self.verbose = verbose
        # Only ever appended to, copied or cleared as a whole, each of which is one atomic step.
        self._conversations: list[JsonObject] = []

    def on_run_end(self, agent: AgentAdapter, result: object) -> None:
        messages = [message.copy() for message in agent.openai_messages()]
        self._conversations.append(self._conversation(agent, messages))
        if self.verbose:
            last = " ".join(str(result).split())
            print(f"[{agent.name}] {count_of(len(messages), 'message')}, answered: {last[:_SHOWN]}")

    def get_all_conversations(self) -> list[JsonObject]:
        """Return all conversations, in the order in which they ended."""
        return self._conversations.copy()

    def get_conversations_by_agent(self, agent_name: str) -> list[JsonObject]:
        return [talk for talk in self.get_all_conversations() if talk["agent_name"] == agent_name]

    def clear(self) -> None:
        self._conversations.clear()

    def get_statistics(self) -> JsonObject:
        """Count the conversations and messages, in all and for each agent."""
        by_agent: dict[str, list[int]] = {}
        for talk in self.get_all_conversations():
            by_agent.setdefault(talk["agent_name"], []).append(talk["message_count"])
        counts = [count for each in by_agent.values() for count in each]
        statistics: JsonObject = {
            "total_conversations": len(counts),
            "total_messages": sum(counts),
            "agents": list(by_agent),
        }
        if counts:
            statistics["avg_messages_per_conversation"] = sum(counts) / len(counts)
            statistics["agent_statistics"] = {
                name: {
                    "conversations": len(each),
                    "total_messages": sum(each),
                    "avg_messages": sum(each) / len(each),
                }
                for name, each in by_agent.items()
            }
        return statistics

    def __repr__(self) -> str:
        return f"{type(self).__name__}(conversations={len(self._conversations)})"

    def _conversation(self, agent: AgentAdapter, messages: list[Message]) -> JsonObject:
        opened = bool(messages) and messages[0].get("role") == "user"
        conversation: JsonObject = {
            "agent_name": agent.name,
            "agent_type": type(agent.agent).__name__,
            "query": messages[0].get("content") if opened else None,
            "messages": messages if self.include_metadata else list(map(openai_form, messages)),
            "message_count": len(messages),
        }
        if self.include_metadata:
            conversation["metadata"] = {
                "timestamp": messages[-1].get("timestamp") if messages else None,
                "has_tool_calls": any(message.get("tool_calls") for message in messages),
                "roles": list(dict.fromkeys(message.get("role") for message in messages)),
            }
        return conversation
