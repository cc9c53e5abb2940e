import os
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from maseval.core import system_info
from maseval.core.system_info import (
    gather_benchmark_config,
    get_environment_variables,
    get_git_info,
    get_package_versions,
    get_system_info,
)

IDENTITY = {
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "GIT_COMMITTER_DATE": "2024-05-06T07:08:09+02:00",
    "GIT_CONFIG_GLOBAL": os.devnull,
}


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", folder, *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=os.environ | IDENTITY,
    ).stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "repository"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "trunk")
    (folder / "a.txt").write_text("one")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "First\n\nwith a body")
    return folder


@pytest.fixture(autouse=True)
def nothing_looked_up_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_info, "_GIT_SECONDS", 60.0)  # a busy machine is no fault
    for function in (system_info._git_info, get_package_versions, get_system_info):
        function.cache_clear()


def test_a_clean_repository_tells_its_commit(repository):
    commit = git(repository, "rev-parse", "HEAD")

    assert get_git_info(repository) == {
        "commit_hash": commit,
        "commit_hash_short": commit[:7],
        "branch": "trunk",
        "is_dirty": False,
        "untracked_files": 0,
        "remote_url": None,
        "commit_message": "First\n\nwith a body",
        "commit_author": "Ada",
        "commit_date": "2024-05-06T07:08:09+02:00",
        "repo_root": str(repository),
    }


def told(repository: Path, *names: str) -> tuple[int | str, ...]:
    system_info._git_info.cache_clear()
    info = get_git_info(repository)
    return tuple(info[name] for name in names)


def test_a_tree_with_changes_is_dirty_and_one_with_other_files_is_not(repository):
    (repository / "b c.txt").write_text("")
    assert told(repository, "untracked_files", "is_dirty") == (1, False)
    (repository / "a.txt").write_text("two")
    assert told(repository, "is_dirty") == (True,)
    git(repository, "add", "a.txt")
    assert told(repository, "is_dirty") == (True,)


def test_a_detached_head_is_named_by_its_commit(repository):
    commit = git(repository, "rev-parse", "HEAD")
    git(repository, "checkout", "-q", "--detach")

    assert told(repository, "branch") == (f"detached@{commit[:7]}",)


@pytest.mark.parametrize(
    ("remotes", "url"),
    [
        ({"origin": "https://ada:s3cret@example.org/r.git"}, "https://example.org/r.git"),
        ({"origin": "https://ada:s3@cret@example.org/r"}, "https://example.org/r"),
        ({"origin": "git@example.org:r.git"}, "git@example.org:r.git"),
        ({"backup": "/b", "origin": "/o"}, "/o"),
        ({"backup": "/b"}, "/b"),
    ],
)
def test_the_remote_is_told_without_its_password(repository, remotes, url):
    for name, address in remotes.items():
        git(repository, "remote", "add", name, address)

    assert get_git_info(repository)["remote_url"] == url


def test_no_repository_is_told_as_an_error(tmp_path):
    info = get_git_info(tmp_path)

    assert set(info) == {"error", "error_type"}
    assert "not a git repository" in info["error"]
    assert info["error_type"] == "CalledProcessError"


def test_a_machine_without_git_is_told_as_an_error(repository, monkeypatch):
    monkeypatch.setenv("PATH", "")

    assert get_git_info(repository)["error_type"] == "FileNotFoundError"


def test_a_git_that_hangs_is_given_up(repository, tmp_path, monkeypatch):
    fake = tmp_path / "bin" / "git"
    fake.parent.mkdir()
    fake.write_text("#!/bin/sh\nexec sleep 60\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    monkeypatch.setattr(system_info, "_GIT_SECONDS", 0.05)

    assert get_git_info(repository)["error_type"] == "TimeoutExpired"


def test_a_hook_of_another_repository_does_not_confuse_the_answer(repository, monkeypatch):
    monkeypatch.setenv("GIT_DIR", "/nowhere/.git")

    assert get_git_info(repository)["branch"] == "trunk"


INSTALLED = {
    "Plain-1.2.dist-info": {"METADATA": "Metadata-Version: 2.1\nName: Plain\nVersion: 1.2\n"},
    "linked-1.0.dist-info": {
        "METADATA": "Name: linked\nVersion: 1.0\n",
        "direct_url.json": '{"url": "file:///src", "dir_info": {"editable": true}}',
    },
    "copied-1.0.dist-info": {
        "METADATA": "Name: copied\nVersion: 1.0\n",
        "direct_url.json": '{"url": "file:///src", "dir_info": {}}',
    },
    "odd-1.0.dist-info": {"METADATA": "Name: odd\nVersion: 1.0\n", "direct_url.json": "[]"},
    "old-3.egg-info": {"PKG-INFO": "Name: old\nVersion: 3\n"},
    "broken-1.0.dist-info": {"METADATA": "nothing"},
    "latin-1.0.dist-info": {"METADATA": "Name: lat\xefn\n"},
}


def test_every_kind_of_installation_is_understood(tmp_path, monkeypatch):
    for package, files in INSTALLED.items():
        (tmp_path / package).mkdir()
        for name, text in files.items():
            (tmp_path / package / name).write_text(text, encoding="latin-1")
    monkeypatch.setattr(sys, "path", [str(tmp_path)])

    versions = get_package_versions()

    assert versions == {
        "copied": "1.0",
        "linked": "editable",
        "odd": "1.0",
        "old": "3",
        "Plain": "1.2",
    }
    assert list(versions) == ["copied", "linked", "odd", "old", "Plain"]


def test_the_first_of_two_installations_counts(tmp_path, monkeypatch):
    for folder, version in (("first", "1"), ("second", "2")):
        place = tmp_path / folder / f"twice-{version}.dist-info"
        place.mkdir(parents=True)
        (place / "METADATA").write_text(f"Name: twice\nVersion: {version}\n")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])

    assert get_package_versions() == {"twice": "1"}


@pytest.mark.parametrize("word", ["KEY", "TOKEN", "SECRET", "PASSWORD", "CREDENTIAL", "AUTH"])
def test_a_variable_that_sounds_like_a_secret_is_left_out(monkeypatch, word):
    monkeypatch.setenv(f"OPENAI_{word}_X", "s3cret")
    monkeypatch.setenv(f"openai_{word.lower()}_y", "s3cret")

    assert "s3cret" not in get_environment_variables().values()
    assert "s3cret" not in get_environment_variables(["OPENAI", word]).values()


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("https://ada:s3cret@example.org/v1", "https://example.org/v1"),
        ("a=http://t0k@h:1/x b=http://u:p@i/y", "a=http://h:1/x b=http://i/y"),
        ("https://example.org/@scope/x@1", "https://example.org/@scope/x@1"),
    ],
)
def test_addresses_lose_their_user_and_password(monkeypatch, value, told):
    monkeypatch.setenv("OPENAI_BASE_URL", value)

    assert get_environment_variables()["OPENAI_BASE_URL"] == told


def test_everything_is_looked_up_once(repository, monkeypatch):
    first = gather_benchmark_config(repository)
    monkeypatch.setattr(subprocess, "run", None)
    monkeypatch.setattr(metadata, "distributions", None)

    config = gather_benchmark_config(repository)

    assert config["git"] is first["git"]
    assert config["packages"] is first["packages"]
