"""The shell of the terminal variants: a folder of documents, and commands that cannot leave it.

Commands are what a model wrote, so they run in a sandbox or not at all: bubblewrap gives them a
file system in which there is nothing but the system's programs and the documents, and no network.

After tau2-bench v1.0.1, src/tau2/knowledge/ (MIT, Sierra Research).
"""

import re
import shutil
import subprocess
import tempfile
import weakref
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from maseval.benchmark.tau2.domains.banking_knowledge.documents import Document
from maseval.core.exceptions import MASEvalError

_SECONDS = 30
_INSIDE = "/kb"
_SYSTEM = ("/usr", "/bin", "/lib", "/lib64", "/sbin", "/etc/alternatives")
_QUOTED = (re.compile(r"'[^']*'"), re.compile(r'"[^"]*"'))
_ABSOLUTE = re.compile(r"(?:^|[\s;|&])(/[a-zA-Z]\S*)")
_LISTED = re.compile(
    r"^([bcdlps-][rwxsStT-]{9}[.+@]?\s+\d+\s+)\S+\s+\S+\s+(\d+)\s+"
    r"\w{3}\s+\d{1,2}\s+(?:\d{2}:\d{2}|\d{4})\s+(.*)$",
    re.MULTILINE,
)


class NoSandboxError(MASEvalError, RuntimeError):
    """A variant needs a shell, and there is no sandbox to run it in."""


class CommandResult(NamedTuple):
    """The outcome of a command."""

    code: int
    output: str
    errors: str


def require_sandbox() -> str:
    """The program that makes sandboxes."""
    program = shutil.which("bwrap")
    if program is None:
        raise NoSandboxError(
            "the shell tool runs what a model writes, so it needs a sandbox: install bubblewrap "
            "(Debian and Ubuntu: apt install bubblewrap), or choose a variant without a shell, "
            "such as banking_knowledge@bm25_grep"
        )
    return program


def safe_name(document_id: str) -> str:
    """The name of a document's file."""
    plain = document_id.replace("/", "_").replace("\\", "_").replace("..", "_")
    return "".join(c if c.isalnum() or c in "._-" else "_" for c in plain)[:255]


def export(documents: Sequence[Document], folder: Path) -> None:
    """Write the documents, and an index of them, into a folder."""
    for document in documents:
        text = f"# {document.title}\n\n{document.content}"
        (folder / f"{safe_name(document.id)}.md").write_text(text, encoding="utf-8")
    by_id = sorted(documents, key=lambda document: document.id)
    entries = "".join(f"- **{safe_name(each.id)}.md** - {each.title}\n" for each in by_id)
    head = f"# Knowledge Base Index\n\n**Total documents:** {len(documents)}\n\n## Documents\n\n"
    (folder / "INDEX.md").write_text(head + entries, encoding="utf-8")


class Shell:
    """A folder of one simulation, and commands in it; ``writable`` lets them change it."""

    def __init__(self, documents: Sequence[Document], *, writable: bool) -> None:
        self._bwrap = require_sandbox()
        self._writable = writable
        self._folder = tempfile.mkdtemp(prefix="maseval-kb-")
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        export(documents, Path(self._folder))

    def run(self, command: str) -> str:
        """Return the text that an agent reads when it runs a command."""
        return _answer(command, self._run_in_sandbox(command))

    def _run_in_sandbox(self, command: str) -> CommandResult:
        if what := _find_escape(command):
            text = f"Error: Command blocked - contains '{what}' which could escape the sandbox"
            return CommandResult(1, "", text)
        try:
            done = subprocess.run(
                self._bwrap_command(command),
                capture_output=True,
                timeout=_SECONDS,
                stdin=subprocess.DEVNULL,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return CommandResult(124, "", f"Command timed out after {_SECONDS} seconds")
        texts = (stream.decode(errors="replace") for stream in (done.stdout, done.stderr))
        return CommandResult(done.returncode, *map(_normalise_listing, texts))

    def _bwrap_command(self, command: str) -> list[str]:
        system = [
            part for name in _SYSTEM if Path(name).exists() for part in ("--ro-bind", name, name)
        ]
        kept = "--bind" if self._writable else "--ro-bind"
        return [
            *(self._bwrap, *system, "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
            *(kept, self._folder, _INSIDE, "--chdir", _INSIDE, "--unshare-all"),
            *("--die-with-parent", "--new-session", "--clearenv"),
            *("--setenv", "PATH", "/usr/bin:/bin", "--setenv", "LC_ALL", "C.UTF-8"),
            *("bash", "-c", command),
        ]


def _find_escape(command: str) -> str | None:
    """Return what in a command could lead out of the folder; quoted parts are not looked at."""
    bare = command
    for quoted in _QUOTED:
        bare = quoted.sub('""', bare)
    if ".." in bare:
        return ".."
    if absolute := _ABSOLUTE.search(bare):
        return f"absolute path: {absolute[1]}"
    if bare.startswith("/"):
        return "absolute path at start"
    if "~" in bare:
        return "~"
    return "$HOME" if "$HOME" in bare or "${HOME}" in bare else None


def _normalise_listing(text: str) -> str:
    """The same on every machine: whose files they are, and when they were made, is left out."""
    return _LISTED.sub(r"\1kb_user  kb_group  \2 Jan  1 00:00 \3", text)


def _answer(command: str, done: CommandResult) -> str:
    if done.code == 0:
        return done.output or "(no output)"
    if done.code == 1 and "grep" in command and not done.errors:
        return "No matches found."
    if done.errors:
        return f"Error (exit code {done.code}): {done.errors}"
    return f"Command failed with exit code {done.code}"
