"""State for worker processes: the domains sent to them, and checksums of the data found there."""

from collections.abc import Iterable
from hashlib import sha256
from typing import NamedTuple

from maseval.benchmark.tau2.data.files import manifest_of
from maseval.benchmark.tau2.data_loader import data_fingerprint, ensure_data_exists, files_of
from maseval.benchmark.tau2.domains import DOMAINS, Domain, register_domain
from maseval.benchmark.tau2.domains.releases import Release


class DomainInUse(NamedTuple):
    """A domain and the release by which its tasks are run; ``own`` if it is not maseval's."""

    name: str
    release: Release
    own: Domain | None

    @classmethod
    def of(cls, name: str, release: Release) -> "DomainInUse":
        """Return a domain that is known in this process."""
        domain = release.domain(name)
        return cls(domain.name, release, None if domain.name in DOMAINS else domain)

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of every file as it is on this machine; fetch what is missing."""
        domain = self.release.domain(self.name)
        if domain.data_dir is not None:
            found = data_fingerprint(domain, version=self.release)
        else:
            version = self.release.version
            root = ensure_data_exists(domain=domain, verbose=0, version=version)
            names = [file.name for file in files_of(domain, manifest_of(version))]
            # Hashed here and not taken from the manifest: somebody may have edited the files.
            found = {name: sha256((root / name).read_bytes()).hexdigest() for name in names}
        return {f"{self.name}: {name}": value for name, value in found.items()}


def register_domains(domains: Iterable[DomainInUse]) -> None:
    """Make the domains that were sent along known in this process."""
    for each in domains:
        if each.own is not None:
            register_domain(each.own, replace=True)
