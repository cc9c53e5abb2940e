"""MACSUser: the person with the goals of a scenario, played by a model."""

from typing import Any, ClassVar

from maseval.core.messages import MessageHistory
from maseval.core.model import ModelAdapter
from maseval.core.user import LLMUser

PROFILE = {"note": "All that is known about this person stands in the SCENARIO section."}


class MACSUser(LLMUser):
    """A user who speaks at most ``max_turns`` times, and stops early once all goals are met.

    The scenario is given to the model whole. The initial query is the first turn, so that with the
    default of five an agent gets four answers.
    """

    DEFAULT_MAX_TURNS = 5
    DEFAULT_STOP_TOKENS: ClassVar[list[str]] = ["</stop>"]
    DEFAULT_EARLY_STOPPING_CONDITION = (
        "ALL goals have been satisfactorily addressed by the assistant"
    )

    def __init__(
        self,
        model: ModelAdapter,
        scenario: str,
        initial_query: str,
        name: str = "Simulated User",
        template: str | None = None,
        max_turns: int = DEFAULT_MAX_TURNS,
        stop_tokens: list[str] | None = None,
        early_stopping_condition: str | None = DEFAULT_EARLY_STOPPING_CONDITION,
        exhausted_response: str | None = None,
    ) -> None:
        super().__init__(
            name=name,
            model=model,
            user_profile=dict(PROFILE),
            scenario=scenario,
            initial_query=initial_query,
            template=template,
            max_turns=max_turns,
            stop_tokens=list(self.DEFAULT_STOP_TOKENS) if stop_tokens is None else stop_tokens,
            early_stopping_condition=early_stopping_condition,
            exhausted_response=exhausted_response,
        )

    def reset(self) -> None:
        """Begin the conversation again after its first message."""
        self.messages = MessageHistory(self.messages[:1])
        self._turn_count = len(self.messages)
        self._stop_reason = None

    def get_tool(self) -> Any:
        raise NotImplementedError(
            "get_tool: a MACSUser is not a tool of any framework; use a subclass that overrides "
            "get_tool, such as class User(LangGraphLLMUser, MACSUser)"
        )
