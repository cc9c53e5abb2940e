"""verifiers: environments over texts as tasksets, for trainers that use that library.

The environment runs in the trainer's process and plays the user of the model's conversation: each
reply of the model is an action, and the next observation comes back as the user's turn.
"""

import json
from abc import abstractmethod
from typing import Any

from maseval.interface import extras

extras.require("verifiers", extra="verifiers")

import verifiers.v1 as vf  # type: ignore[import-not-found]  # noqa: E402


class EpisodeData(vf.TaskData):  # type: ignore[misc]
    """A task; ``settings`` are the arguments of its environment."""

    settings: dict[str, Any]


class EpisodeTask(vf.Task[EpisodeData, vf.State, vf.TaskConfig]):  # type: ignore[misc]
    """A task that is scored by its environment alone."""


class EpisodeEnvConfig(vf.EnvConfig):  # type: ignore[misc]
    """The one seat of an episode, whose model needs no tools but words."""

    agent: vf.AgentConfig = vf.AgentConfig(harness={"id": "null"}, runtime=vf.SubprocessConfig())


class EpisodeEnv(vf.Env[EpisodeEnvConfig]):  # type: ignore[misc]
    """Plays episodes; the reward is the environment's, 0 for one that did not come to its end."""

    @abstractmethod
    def make(self, settings: dict[str, Any]) -> Any:
        """Return the environment of a task, over texts, whose steps can be awaited."""

    async def run(self, task: Any, agents: Any) -> None:
        env = self.make(task.data.settings)
        observation, info = await env.reset_async()
        reward, over = 0.0, False
        async with agents.agent.interaction(task) as interaction:
            segment = await interaction.turn(observation)
            while not (segment.terminated or over):
                observation, reward, over, _, info = await env.step_async(segment.last_reply)
                if not over:
                    segment = await interaction.turn(observation)
        interaction.trace.record_reward("reward", reward if over else 0.0)
        if over:
            interaction.trace.info["simulation"] = json.loads(info["simulation_run"])


Taskset, TasksetConfig = vf.Taskset, vf.TasksetConfig
