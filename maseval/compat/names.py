"""Values of MASEval's names that have no other home here; ``compat`` says who is asked for them."""

import datetime as dt
from pathlib import Path
from typing import Any, Literal

from maseval.benchmark.macs import data_loader as macs_data
from maseval.benchmark.tau2 import data_loader
from maseval.benchmark.tau2.domains import DOMAINS
from maseval.benchmark.tau2.domains.telecom.tools import TODAY

RoleType = Literal["user", "assistant", "system", "tool"]
ContentType = str | list[dict[str, Any]]
OrderPaymentType = Literal["payment", "refund"]

# Without the domains that MASEval does not have.
_OURS = {name: DOMAINS[name] for name in data_loader.VALID_DOMAINS}
DOMAIN_DB_CLASSES = {name: domain.db for name, domain in _OURS.items()}
DOMAIN_TOOLKIT_CLASSES = {name: domain.toolkit for name, domain in _OURS.items()}
DOMAIN_USER_TOOLKIT_CLASSES = {
    name: domain.user_toolkit for name, domain in _OURS.items() if domain.user_toolkit
}
_FOLDERS = {
    "DEFAULT_TEMPLATES_DIR": lambda: macs_data.DEFAULT_DATA_DIR.parent / "prompt_templates",
    "GUIDELINES_DIR": lambda: data_loader.DEFAULT_DATA_DIR / "user_simulator",
}


def __getattr__(name: str) -> Path:
    if name in _FOLDERS:  # they depend on the environment, as the folders they are in
        return _FOLDERS[name]()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def get_now() -> dt.datetime:
    """Return the time at which every task of telecom takes place."""
    return dt.datetime.combine(TODAY, dt.time(12, 8))


def get_today() -> dt.date:
    """Return the day on which every task of telecom takes place."""
    return TODAY


class Tau2TaskLoader:
    """The functions of ``data_loader`` under one name."""

    download_domain_data = staticmethod(data_loader.download_domain_data)
    load_tasks = staticmethod(data_loader.load_tasks)
