"""The modules of pages: each imports what it needs, and no name is given twice in all of them."""

import re
from collections.abc import Iterator
from importlib.resources import files

import pytest

from maseval.report.page import bundle_script, module_order

HOMES = {"": "maseval.report", "view/": "maseval.view"}
IMPORTED = re.compile(r'^import \{ ([^}]*) \} from "(\.\.?)/(\w+)\.js";$', re.M)
DECLARED = re.compile(
    r"^(export )?(?:async )?(?:function\*?|const|let|class) (?:([A-Za-z_]\w*)|[{\[])", re.M
)


def modules(home: str) -> dict[str, str]:
    folder = files(HOMES[home]).joinpath("assets")
    return {
        home + path.name.removesuffix(".js"): path.read_text(encoding="utf-8")
        for path in folder.iterdir()
        if path.name.endswith(".js")
    }


REPORT, VIEWER = modules(""), modules("view/")
ALL = {**REPORT, **VIEWER}


def declared(name: str, exported: bool = False) -> list[str]:
    return [found for export, found in DECLARED.findall(ALL[name]) if export or not exported]


@pytest.mark.parametrize("name", sorted(ALL))
def test_a_module_imports_what_it_uses_and_nothing_else(name):
    lines = re.findall(r"^import .*$", ALL[name], re.M)
    found = IMPORTED.findall(ALL[name])
    assert len(found) == len(lines)
    body = IMPORTED.sub("", ALL[name])
    known = set(declared(name))
    for names, way, home in found:
        module = f"view/{home}" if way == "." and name in VIEWER else home
        known |= {*names.split(", ")}
        for each in names.split(", "):
            assert each in declared(module, exported=True), f"{each} of {module}"
            assert re.search(rf"\b{each}\b", body), f"{each} is not used"
    code = re.sub(r'^\s*//[^\n]*$|/\*\*.*?\*/|"[^"\n]*"', "", body, flags=re.M | re.S)
    for other in ALL.keys() - {name}:
        for missing in {*declared(other, exported=True)} - known:
            called = re.search(rf"(?<![\w.$]){missing}(?=\(|\.|\[)", code)
            local = re.search(rf"(const|let|\(|, |\{{ ){missing}\b", code)
            assert not called or local, f"{missing} of {other}.js is not imported"


def test_a_report_has_every_module_of_its_folder_after_those_it_imports_in_one_scope():
    order = [name.removesuffix(".js") for name in module_order("report.js")]
    assert sorted(order) == sorted(REPORT)
    for name in order:
        for _, _, home in IMPORTED.findall(REPORT[name]):
            assert order.index(home) < order.index(name)
    assert not re.search(r"^(import|export) ", bundle_script("report.js"), re.M)


def test_no_name_is_given_twice_over_all_modules():
    every = [each for name in ALL for each in declared(name)]
    assert sorted(every) == sorted(set(every))


@pytest.mark.parametrize("name", sorted(VIEWER))
def test_no_module_writes_markup_or_styles(name):
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    assert not re.search(forbidden, ALL[name])


SHEETS = {home: files(package).joinpath("assets") for home, package in HOMES.items()}


def selectors(home: str) -> Iterator[list[str]]:
    """The selectors of a stylesheet as lists of compounds, without their states and attributes."""
    sheet = SHEETS[home].joinpath("view.css" if home else "page.css").read_text(encoding="utf-8")
    plain = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", sheet, flags=re.S)
    for several in re.findall(r"([^{}]+)\{[^{}]*\}", plain):
        for one in re.split(r",(?![^(]*\))", several):
            yield re.sub(r":[\w-]+(\([^)]*\))?|\[[^\]]*\]|[>+~]", "", one).split()


def classes(compound: str) -> list[str]:
    return re.findall(r"\.([\w-]+)", compound)


def components(home: str) -> set[str]:
    """The classes that are styled wherever they stand: such a name is one component's own."""
    alone = (found[0] for found in selectors(home) if len(found) == 1)
    return {each.removeprefix(".") for each in alone if re.fullmatch(r"\.[\w-]+", each)}


def test_no_component_is_styled_in_two_stylesheets():
    assert not components("") & components("view/")


def test_no_class_that_modifies_a_component_is_a_component_itself():
    compounds = [each for home in HOMES for found in selectors(home) for each in found]
    modifiers = {name for each in compounds for name in classes(each)[1:]}
    assert not modifiers & (components("") | components("view/"))
