"""tau2 as a taskset of the library verifiers, over the same episodes as the Gymnasium environments.

The library finds a taskset by the name of a module that is in no package and has ``__all__``: a
file of your own that imports both classes.
"""

import json
from collections.abc import Iterator

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.gym import AgentGymEnv
from maseval.interface.verifiers import EpisodeData, EpisodeEnv, EpisodeTask, Taskset, TasksetConfig

__all__ = ["Tau2Env", "Tau2Taskset"]

PROMPT = """\
You are a customer service agent. Follow this policy:

<policy>
{policy}
</policy>

Your tools:
{tools}

Every reply is either a message to the customer, or one tool call and nothing else, written as
{{"name": "...", "arguments": {{...}}}}. When there is nothing more to do, call done."""


class Tau2TasksetConfig(TasksetConfig):  # type: ignore[misc]
    """The tasks, and the player of the customer: ``scripted``, or the model ``user_llm``."""

    domain: str = "retail"
    # v0.2.0, the default elsewhere, keeps no tasks apart for training.
    split: str = "train"
    data_version: str = "1.0.1"
    user: str | None = "scripted"
    user_llm: str | None = None
    max_steps: int = 100


class Tau2Taskset(Taskset[EpisodeTask, Tau2TasksetConfig]):  # type: ignore[misc]
    """The tasks of a domain, each with its policy and tools in the system prompt."""

    def load(self) -> Iterator[EpisodeTask]:
        given = self.config
        who = {"user_llm": given.user_llm} if given.user_llm else {"user": given.user}
        for raw in load_raw_tasks(given.domain, given.split, version=given.data_version):
            task = {"domain": given.domain, "task_id": raw["id"]}
            # An episode is begun only to learn what an agent is told in it.
            _, info = AgentGymEnv(**task, user="scripted", data_version=given.data_version).reset()
            tools = "\n".join(json.dumps(tool.openai_schema) for tool in info["tools"])
            prompt = PROMPT.format(policy=info["policy"], tools=tools)
            settings = {
                **task,
                "data_version": given.data_version,
                "max_steps": given.max_steps,
                **who,
            }
            name = f"{given.domain}/{raw['id']}"
            data = EpisodeData(id=name, name=name, system_prompt=prompt, settings=settings)
            yield EpisodeTask(data, given.task)


class Tau2Env(EpisodeEnv):
    """Plays the customer, and judges as ``maseval tau2 run`` does."""

    def make(self, settings: dict[str, object]) -> AgentGymEnv:
        return AgentGymEnv(**settings)  # type: ignore[arg-type]
