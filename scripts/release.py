"""Build a release and try it: ``make release``.

Wheel and sdist are built into ``dist/``, each is installed in a fresh environment and runs a small
evaluation there, and the notes of the version are taken from the changelog. Nothing is uploaded and
nothing is tagged: that is for the person who releases, and the last line says how.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
SMOKE = """
import maseval
from maseval import commands

assert maseval.__version__ == {version!r}, maseval.__version__
run = commands.tau2.run(domain="library", agent="gold", output="smoke")
assert run.complete and run.summary.overall.recorded > 0, run
page = commands.report("smoke")
print(f"{{run.summary.overall.recorded}} simulations, {{page}}")
"""


class ReleaseError(Exception):
    """The release is not ready: the message says what is missing."""


def find_version() -> str:
    """Return the version that the package names."""
    found = re.search(r'__version__ = "([^"]+)"', (ROOT / "maseval/__init__.py").read_text("utf-8"))
    if found is None:
        raise ReleaseError("maseval/__init__.py has no __version__")
    return found[1]


def read_notes(changelog: str, version: str) -> str:
    """Return the section of the changelog about a version."""
    section = re.search(
        rf"^## \[?{re.escape(version)}\]?[^\n]*\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )
    if section is None:
        raise ReleaseError(
            f"CHANGELOG.md has no section '## {version}': rename 'Unreleased', and add the date"
        )
    return section[1].strip() + "\n"


def build_packages() -> list[Path]:
    """Build wheel and sdist into an empty ``dist/``."""
    shutil.rmtree(DIST, ignore_errors=True)
    subprocess.run(
        [sys.executable, "-m", "build", "--no-isolation", "--outdir", DIST, ROOT],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return sorted(DIST.iterdir())


def try_package(package: Path, version: str) -> None:
    """Install a package in a fresh environment and run an evaluation outside of the checkout."""
    with tempfile.TemporaryDirectory() as folder:
        environment = Path(folder, "venv")
        subprocess.run(
            [os.environ.get("PYTHON", sys.executable), "-m", "venv", environment], check=True
        )
        python = environment / "bin" / "python"
        pip = [python, "-m", "pip", "--disable-pip-version-check", "-qq", "install", package]
        subprocess.run(pip, check=True)
        print(f"{package.name}: ", end="", flush=True)
        subprocess.run([python, "-c", SMOKE.format(version=version)], cwd=folder, check=True)
        subprocess.run(
            [environment / "bin" / "maseval", "show", "smoke"],
            cwd=folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )


def main() -> int:
    """Build, try and describe the release; return the exit code."""
    try:
        version = find_version()
        notes = read_notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version)
        packages = build_packages()
        for package in packages:
            try_package(package, version)
    except (ReleaseError, subprocess.CalledProcessError) as error:
        print(f"No release: {error}", file=sys.stderr)
        return 1
    (DIST / "RELEASE_NOTES.md").write_text(notes, encoding="utf-8")
    print(f"Built: {', '.join(each.name for each in packages)}; notes: dist/RELEASE_NOTES.md")
    tag = f"git tag -a v{version} -F dist/RELEASE_NOTES.md"
    print(f"To release it:  {tag} && git push origin v{version}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
