"""Telecom: a mobile carrier's support desk, and the customer's phone at the other end of the line.

Both sides have tools. The agent sees the company's database; only the customer can look at the
phone and press its buttons, so the agent must find the fault by asking.

After tau2-bench v0.2.0, src/tau2/domains/telecom/ (MIT, Sierra Research).
"""

from pathlib import Path

from maseval.benchmark.tau2.domains.domain import (
    Domain,
    LateRules,
    PermanenceRule,
    Policy,
    append_only,
    only_rises,
    stays,
)
from maseval.benchmark.tau2.domains.telecom.coupling import SYNC_AFTER, sync
from maseval.benchmark.tau2.domains.telecom.models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.telecom.models import TelecomDB
from maseval.benchmark.tau2.domains.telecom.tools import TelecomTools
from maseval.benchmark.tau2.domains.telecom.user_models import *  # noqa: F403  # the records, as in MASEval
from maseval.benchmark.tau2.domains.telecom.user_models import TelecomUserDB
from maseval.benchmark.tau2.domains.telecom.user_tools import TelecomUserTools

# Values that no tool can undo.
PERMANENCE = (
    PermanenceRule(
        "lines", ("data_refueling_gb",), only_rises, "data that was added cannot be taken back"
    ),
    PermanenceRule("bills", ("line_items",), append_only, "an entry on a bill stays there"),
    PermanenceRule("bills", (), stays, "a bill that was opened cannot be removed"),
)


def _policy(support: str, solo_support: str) -> Policy:
    def compose(folder: Path, solo: bool) -> str:
        main = folder / ("main_policy_solo.md" if solo else "main_policy.md")
        manual = folder / (solo_support if solo else support)
        return (
            f"<main_policy>\n{main.read_text(encoding='utf-8')}\n</main_policy>\n"
            f"<tech_support_policy>\n{manual.read_text(encoding='utf-8')}\n</tech_support_policy>"
        )

    return compose


def _telecom(name: str, policy: Policy) -> Domain:
    return Domain(
        name=name,
        folder_name="telecom",
        db=TelecomDB,
        db_file="db.toml",
        toolkit=TelecomTools,
        user_db=TelecomUserDB,
        user_db_file="user_db.toml",
        user_toolkit=TelecomUserTools,
        sync=sync,
        sync_after=SYNC_AFTER,
        policy_text=policy,
        task_files={
            "base": "tasks.json",
            "small": "tasks_small.json",
            "full": "tasks_full.json",
        },
        rules=LateRules("telecom.rules"),
        permanence=PERMANENCE,
    )


TELECOM = _telecom("telecom", _policy("tech_support_manual.md", "tech_support_manual.md"))
TELECOM_WORKFLOW = _telecom(
    "telecom-workflow",
    _policy("tech_support_workflow.md", "tech_support_workflow_solo.md"),
)

__all__ = [
    "TELECOM",
    "TELECOM_WORKFLOW",
    "TelecomDB",
    "TelecomTools",
    "TelecomUserDB",
    "TelecomUserTools",
]
