"""The same players in the library's own functions, to compare with."""

import json
import warnings
from typing import Any

from maseval_agentdojo.library import (
    BasePipelineElement,
    FunctionCall,
    ToolsExecutor,
    attack_on,
    get_text_content_as_str,
    imported,
    load_system_message,
    parsed_in_c,
    suite_of,
    text_content_block_from_string,
)
from maseval_agentdojo.players import Player

from maseval import ChatResponse

ATTACKED = "gpt-4o-2024-05-13"


class PlayedModel(BasePipelineElement):
    """The library's place for a model, with a player in it."""

    def __init__(self, player: Player) -> None:
        self.player = player

    def query(self, query: Any, runtime: Any, env: Any, messages: Any = (), extra_args: Any = None):
        reply = self.player.reply([*map(_openai, messages)])
        text, calls = None, []
        if isinstance(reply, str | ChatResponse):
            text = reply if isinstance(reply, str) else reply.content
        else:
            calls = [
                FunctionCall(
                    function=each["function"]["name"],
                    args=json.loads(each["function"]["arguments"]),
                    id=each["id"],
                )
                for each in reply
            ]
        content = None if text is None else [text_content_block_from_string(text)]
        said = {"role": "assistant", "content": content, "tool_calls": calls}
        return query, runtime, env, [*messages, said], extra_args or {}


def _openai(message: dict[str, Any]) -> dict[str, Any]:
    text = get_text_content_as_str(message["content"] or [])
    return {"role": message["role"], "content": message.get("error") or text}


def original_verdict(case: dict[str, Any], attack: str | None, kind: str) -> tuple[bool, bool]:
    """Return utility and security of a case by the library's own functions."""
    pipelines = imported("agentdojo.agent_pipeline")
    benchmark, logging = imported("agentdojo.benchmark"), imported("agentdojo.logging")
    model = PlayedModel(Player(kind, case))
    pipeline = pipelines.AgentPipeline(
        [
            pipelines.SystemMessage(load_system_message(None)),
            pipelines.InitQuery(),
            model,
            pipelines.ToolsExecutionLoop([ToolsExecutor(), model]),
        ]
    )
    pipeline.name = ATTACKED
    suite = suite_of(case["version"], case["suite"])
    user = suite.get_user_task_by_id(case["user_task"])
    given = {"logdir": None, "force_rerun": True, "benchmark_version": case["version"]}
    # The worlds are equal, as another test shows, and it takes minutes less.
    with warnings.catch_warnings(), logging.OutputLogger(None), parsed_in_c():
        warnings.simplefilter("ignore")
        if attack is None:
            return benchmark.run_task_without_injection_tasks(suite, pipeline, user, **given)
        attacker = attack_on(suite, attack, ATTACKED)
        useful, attacked = benchmark.run_task_with_injection_tasks(
            suite, pipeline, user, attacker, injection_tasks=[case["injection_task"]], **given
        )
    [key] = useful
    assert key == (case["user_task"], case["injection_task"])
    return useful[key], attacked[key]
