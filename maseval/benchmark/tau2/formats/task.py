"""A task in v0.2.0's form, as its task files and its results files hold it.

After tau2-bench v0.2.0, src/tau2/data_model/tasks.py (MIT, Sierra Research).
"""

from typing import NotRequired

from typing_extensions import TypedDict


class UserInstructions(TypedDict, total=False):
    """What the user is told to want, in parts."""

    domain: str
    reason_for_call: str
    known_info: str | None
    unknown_info: str | None
    task_instructions: str


class UserScenario(TypedDict, total=False):
    """Who the user is, and what it is told to want."""

    persona: str | None
    instructions: str | UserInstructions | None


class RawTask(TypedDict):
    """A task before ``TaskSpec`` has read what scoring needs of it; v0.2.0 lacks the last three."""

    id: str
    user_scenario: UserScenario
    description: NotRequired[dict[str, object] | None]
    ticket: NotRequired[str | None]
    initial_state: NotRequired[dict[str, object] | None]
    evaluation_criteria: NotRequired[dict[str, object] | None]
    issues: NotRequired[list[dict[str, object]] | None]
    required_documents: NotRequired[list[str] | None]
    user_tools: NotRequired[list[str] | None]
