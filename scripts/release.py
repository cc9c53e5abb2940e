"""Build a release and try it: ``make release``.

The fragments in ``changes/`` are moved into the changelog. Wheel and sdist are built into
``dist/``, each is installed in a fresh environment and runs a small evaluation there, and the notes
of the version are taken from the changelog. Nothing is uploaded, committed or tagged: that is for
the person who releases, and the last line says how.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from datetime import date
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


def find_section(changelog: str, version: str) -> re.Match[str] | None:
    """Find the section of the changelog about a version; its first group has no heading."""
    return re.search(
        rf"^## \[?{re.escape(version)}\]?[^\n]*\n(.*?)(?=^## |\Z)",
        changelog,
        re.MULTILINE | re.DOTALL,
    )


def read_notes(changelog: str, version: str) -> str:
    """Return the section of the changelog about a version."""
    section = find_section(changelog, version)
    if section is None:
        raise ReleaseError(
            f"CHANGELOG.md has no section '## {version}', and changes/ has no fragments for it"
        )
    return section[1].strip() + "\n"


def assemble_changelog(root: Path, version: str) -> None:
    """Move the fragments in ``changes/`` into the version's section of the changelog.

    The section is begun if there is none. A fragment is deleted only once the changelog has it, so
    that a release that failed can be repeated.
    """
    fragments = sorted(root.glob("changes/*.*.md"))
    if not fragments:
        return
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", version]
    drafted = subprocess.run(
        [*command, "--dir", root], check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    path = root / "CHANGELOG.md"
    path.write_text(add_entries(path.read_text("utf-8"), version, drafted), encoding="utf-8")
    for each in fragments:
        each.unlink()


def add_entries(changelog: str, version: str, drafted: str) -> str:
    """Add what towncrier drafted below the same headings of a version's section."""
    section = find_section(changelog, version)
    if section is None:
        found = re.search(r"^## ", changelog, re.MULTILINE)
        at = found.start() if found else len(changelog)
        heading = f"## {version} ({date.today()})\n\n"
        return f"{changelog[:at]}{heading}{drafted.strip()}\n\n{changelog[at:]}"
    text = section[1].rstrip()
    for heading, entries in re.findall(r"^(### .*)\n+((?:(?!### ).*\n?)*)", drafted, re.MULTILINE):
        text = _add_below(text, heading, entries.strip())
    return f"{changelog[: section.start(1)]}{text}\n\n{changelog[section.end(1) :]}".rstrip() + "\n"


def _add_below(text: str, heading: str, entries: str) -> str:
    """Add entries at the end of a heading's list, or with the heading at the end of the text."""
    before, found, rest = text.partition(f"{heading}\n")
    if not found:
        return f"{text}\n\n{heading}\n\n{entries}"
    mine, following, others = rest.partition("\n### ")
    return f"{before}{heading}\n{mine.rstrip()}\n{entries}\n{following}{others}".rstrip()


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
        assemble_changelog(ROOT, version)
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
