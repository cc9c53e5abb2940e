"""The page's modules: each works alone, and all of them in one scope."""

import re
from importlib.resources import files

import pytest

from maseval.report.document import asset, bundle_script, module_order

NAMES = sorted(
    path.name.removesuffix(".js")
    for path in files("maseval.report").joinpath("assets").iterdir()
    if path.name.endswith(".js")
)
DECLARED = re.compile(
    r"^(export )?(?:async )?(?:function\*?|const|let|class) (?:([A-Za-z_]\w*)|[{\[])", re.M
)
IMPORTED = re.compile(r'^import \{ ([^}]*) \} from "\./(\w+)\.js";$', re.M)


def declared(name):
    return [found for _, found in DECLARED.findall(asset(f"{name}.js"))]


def exported(name):
    return {found for export, found in DECLARED.findall(asset(f"{name}.js")) if export}


def imported(name):
    found = IMPORTED.findall(asset(f"{name}.js"))
    return {(each, home) for names, home in found for each in names.split(", ")}


def code(name):
    """A module without its imports, comments and texts in quotation marks."""
    text = IMPORTED.sub("", asset(f"{name}.js"))
    return re.sub(r'^\s*//[^\n]*$|/\*\*.*?\*/|"[^"\n]*"', "", text, flags=re.M | re.S)


def test_every_module_is_part_of_the_page():
    assert sorted(module_order("report.js")) == [f"{name}.js" for name in NAMES]


def test_a_module_comes_after_those_it_imports():
    order = [name.removesuffix(".js") for name in module_order("report.js")]
    assert all(
        order.index(home) < order.index(name) for name in NAMES for _, home in imported(name)
    )


@pytest.mark.parametrize("name", NAMES)
def test_a_module_imports_what_it_takes_from_others(name):
    known = {wanted for wanted, _ in imported(name)} | set(declared(name))
    for other in set(NAMES) - {name}:
        for missing in exported(other) - known:
            called = re.search(rf"(?<![\w.$]){missing}(?=\(|\.|\[)", code(name))
            local = re.search(rf"(const|let|\(|, |\{{ ){missing}\b", code(name))
            assert not called or local, f"{missing} of {other}.js"


def test_one_script_is_left_without_imports_and_exports():
    assert not re.search(r"^(import|export) ", bundle_script("report.js"), re.M)
