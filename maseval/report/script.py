"""The page's script: ES modules, which a server can send as they are, put into one file.

A page opened from disk may load no module, not even from its own folder, so a report carries them
as one script: each module after those it imports, without the words ``import`` and ``export``. No
name is given twice in all modules, which a test makes sure of, and so they may share one scope.
"""

import re
from importlib.resources import files

_IMPORT = re.compile(r'^import \{[^}]*\} from "\./(\w+)\.js";\n', re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def asset(name: str) -> str:
    """A file of the page."""
    return files("maseval.report").joinpath("assets", name).read_text(encoding="utf-8")


def bundled(entry: str) -> str:
    """The module ``entry`` with all that it imports, as one script."""
    return "\n".join(_plain(asset(f"{name}.js")) for name in in_order(entry))


def in_order(entry: str) -> list[str]:
    """The names of the modules, each after those that it imports."""
    ordered: dict[str, None] = {}
    for imported in _IMPORT.findall(asset(f"{entry}.js")):
        ordered |= dict.fromkeys(in_order(imported))
    return [*ordered, entry]


def _plain(module: str) -> str:
    return _EXPORT.sub("", _IMPORT.sub("", module))
