import os

from maseval.core.entry_points import find_entry_points

GROUP = "maseval.fruits"


def install(folder, name):
    metadata = folder / f"{name}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = {name}:MADE\n")


def names():
    return {found.name for found in find_entry_points(GROUP)}


def test_a_folder_that_is_added_to_the_path_brings_its_packages(tmp_path, monkeypatch):
    install(tmp_path, "apple")
    before = names()
    monkeypatch.syspath_prepend(tmp_path)

    assert (before, names()) == (set(), {"apple"})


def test_a_package_that_is_installed_meanwhile_is_found(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    os.utime(tmp_path, (0, 0))
    before = names()
    install(tmp_path, "pear")

    assert (before, names()) == (set(), {"pear"})
