import hashlib

import pytest

from maseval.benchmark.tau2.data import VERSIONS, UnknownVersionError, title_of
from maseval.benchmark.tau2.data.files import MANIFEST, manifest_of, read_listing
from maseval.data.files import ChecksumError, DataFile, Manifest


def data_file(name: str, content: bytes) -> DataFile:
    return DataFile(name, len(content), hashlib.sha256(content).hexdigest())


@pytest.mark.data
def test_the_files_in_use_have_the_sizes_and_hashes_of_the_manifest(tau2_data):
    for name, file in MANIFEST.files.items():
        content = (tau2_data / name).read_bytes()
        assert len(content) == file.size
        file.verify(content)


def test_a_folder_whose_name_begins_alike_is_another_folder():
    files = [data_file("domains/tele/db.json", b"1"), data_file("domains/telecom/db.json", b"2")]
    manifest = Manifest("shop", "v1", {file.name: file for file in files})
    assert manifest.below("domains/tele") == files[:1]


@pytest.mark.parametrize("given", ["", "v", "1.0", "0.1.0", "main", "vv1.0.1", "../v1.0.1"])
def test_an_unknown_version_is_refused_with_the_known_ones(given):
    with pytest.raises(UnknownVersionError, match=r"known: 0\.2\.0, 1\.0\.1"):
        manifest_of(given)


@pytest.mark.parametrize("version", VERSIONS)
def test_no_name_in_a_manifest_leads_out_of_its_folder(version):
    for name in (*manifest_of(version).files, *read_listing(f"{title_of(version)}-source.txt")):
        assert not name.startswith("/")
        assert not {"", ".", ".."} & set(name.split("/"))


@pytest.mark.parametrize("content", [b"", b"trut", b"truth\n", b"Truth"])
def test_a_file_that_differs_in_anything_is_refused_with_both_hashes(content):
    file = data_file("domains/x/db.json", b"truth")
    with pytest.raises(ChecksumError) as refusal:
        file.verify(content)
    message = str(refusal.value)
    assert "domains/x/db.json" in message
    assert file.sha256 in message
    assert hashlib.sha256(content).hexdigest() in message
