"""What a run's record says of the world it took place in: how much data, and which tools."""

from functools import cache
from hashlib import sha256
from pathlib import Path

from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.records import canonical_json


@cache
def db_statistics(domain: Domain, folder: Path) -> dict[str, int]:
    """How much is in the company's database as it was loaded."""
    return domain.db.load(folder / domain.db_file).get_statistics()


@cache
def tool_types(domain: Domain) -> dict[str, str]:
    """Which tool reads and which writes, on both sides; of equal names the user's counts."""
    return {
        (name := definition["function"]["name"]): kit.tool_type(name).value
        for kit in (domain.toolkit, domain.user_toolkit)
        if kit is not None
        for definition in kit.definitions()
    }


@cache
def tools_sha256(domain: Domain) -> dict[str, str]:
    """The hashes of the tool definitions that a model sees."""
    kits = {"tools_sha256": domain.toolkit, "user_tools_sha256": domain.user_toolkit}
    return {
        name: sha256(canonical_json(kit.definitions()).encode()).hexdigest()
        for name, kit in kits.items()
        if kit is not None
    }
