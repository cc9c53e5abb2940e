"""List the newer versions of Python that this machine has, each with the path of its interpreter.

    python -m scripts.pythons          all of them
    python -m scripts.pythons 3.13     only this one

They are looked for on the path, among pyenv's and among uv's: a version manager's command may be on
the path and still run nothing.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

VERSIONS = ("3.12", "3.13", "3.14")


def candidates(version: str) -> Iterator[str]:
    """Yield the commands that may be an interpreter of that version, the likeliest first."""
    yield f"python{version}"
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/{version}.*/bin/python")))
    if uv := shutil.which("uv"):
        yield subprocess.run(
            [uv, "python", "find", version], capture_output=True, text=True
        ).stdout.strip()


def runs(command: str, version: str) -> bool:
    """Return True if the command is an interpreter of that version that can make environments."""
    words = [command, "-c", "import ensurepip, sys; print('%d.%d' % sys.version_info[:2])"]
    try:
        found = subprocess.run(words, capture_output=True, text=True)
    except OSError:
        return False
    return found.stdout.strip() == version


def main() -> None:
    for version in sys.argv[1:] or VERSIONS:
        found = next((each for each in candidates(version) if each and runs(each, version)), None)
        if found is not None:
            print(version, found)


if __name__ == "__main__":
    main()
