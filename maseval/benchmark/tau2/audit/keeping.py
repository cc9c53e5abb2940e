"""Findings kept in the cache folder, so that the same data is audited once.

They are kept for published domains, by the fingerprint of the data and of the code that looks at
it. A file that is missing, damaged or made otherwise is made anew without a word. The code of a
domain of one's own can be anywhere, so its findings are not kept.
"""

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path

from maseval.benchmark.tau2.audit.subject import Finding
from maseval.benchmark.tau2.data_loader import data_fingerprint
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.releases import Release
from maseval.core.storage import strict_json
from maseval.core.storage.files import write_bytes
from maseval.data.store import cache_dir

# All code of the benchmark: tools, rules and checks have a say in what is found.
_CODE = Path(__file__).parents[1]


class Shelf:
    """The place where the findings about one domain, release and split are kept."""

    def __init__(self, domain: Domain, release: Release, split: str) -> None:
        name = f"{domain.name}-{release.name}-{split}"
        clean = "".join(letter if letter.isalnum() or letter in "-_." else "_" for letter in name)
        self.path = cache_dir() / "audit" / f"{clean}.json"
        made_of = [code_fingerprint(), name, data_fingerprint(domain, version=release)]
        self._key = hashlib.sha256(strict_json.dumps(made_of).encode()).hexdigest()

    def load(self) -> list[Finding] | None:
        """Return the findings that were kept, if they are of the same data and code."""
        with suppress(OSError, ValueError, KeyError, TypeError):
            digest, _, body = self.path.read_bytes().partition(b"\n")
            if hashlib.sha256(body).hexdigest().encode("ascii") != digest:
                return None
            kept = strict_json.loads(body)
            if kept["made_of"] == self._key:
                return [Finding(**each) for each in kept["findings"]]
        return None

    def keep(self, findings: Sequence[Finding]) -> None:
        """Keep findings; where that is not possible, they are looked for again next time."""
        value = {"made_of": self._key, "findings": [each.to_dict() for each in findings]}
        with suppress(OSError):
            body = strict_json.dumps(value).encode("ascii")
            digest = hashlib.sha256(body).hexdigest().encode("ascii")
            write_bytes(self.path, digest + b"\n" + body)


@cache
def code_fingerprint() -> str:
    """Return the SHA-256 of the code that finds; another when any of it is changed."""
    digest = hashlib.sha256()
    for file in sorted(_CODE.rglob("*")):
        if file.suffix in (".py", ".json") and file.is_file():
            digest.update(f"{file.relative_to(_CODE).as_posix()}\0".encode())
            digest.update(file.read_bytes())
    return digest.hexdigest()
