"""The benchmark's data files: manifests, addresses and recipes; ``maseval.data`` fetches them."""

VERIFIED = "verified"
VERSIONS = ("0.2.0", "1.0.1", VERIFIED)
VERSIONS_IN_WORDS = f"{', '.join(VERSIONS[:-1])} or {VERSIONS[-1]}"
