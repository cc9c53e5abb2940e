"""The policies that an agent of a domain may have been given."""

from functools import cache
from pathlib import Path

from maseval.benchmark.tau2.data_loader import load_domain_config
from maseval.benchmark.tau2.domains import Domain


@cache
def policies(domain: Domain, data_dir: Path | None = None) -> tuple[str, ...]:
    """The domain's own policy, and the one for an agent that works alone if there is one."""
    folder = load_domain_config(domain, data_dir)["db_path"].parent
    modes = (False,) if domain.solo_refusal else (False, True)
    return tuple(domain.policy(folder, solo=solo) for solo in modes)
