"""The benchmark's data files: manifests, addresses and recipes; ``maseval.data`` fetches them."""

from maseval.core.exceptions import ConfigurationError

VERIFIED = "verified"
VERSIONS = ("0.2.0", "1.0.1", VERIFIED)
VERSIONS_IN_WORDS = f"{', '.join(VERSIONS[:-1])} or {VERSIONS[-1]}"
VARIANT_MARK = "@"
"""What stands between a domain and the way in which it searches, as in banking_knowledge@bm25."""


class UnknownVersionError(ConfigurationError):
    """The checksums of that version of the benchmark are not known."""


def known_version(version: str) -> str:
    """Return the version as in ``VERSIONS``; it may be given as the original's tag, ``v1.0.1``."""
    plain = version_titled(version)
    if plain not in VERSIONS:
        raise UnknownVersionError(
            f"version is {version!r}; choose one whose checksums are known: {', '.join(VERSIONS)}"
        )
    return plain


def title_of(version: str) -> str:
    """Return a version as people write it: ``v1.0.1``, but ``verified``."""
    return f"v{version}" if version[:1].isdigit() else version


def version_titled(title: str) -> str:
    """Return the version that was recorded as ``tau2-bench v1.0.1`` or ``tau2-bench verified``."""
    name = title.removeprefix("tau2-bench ")
    return name[1:] if name[:1] == "v" and name[1:2].isdigit() else name
