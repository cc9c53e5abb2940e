"""The viewer's modules: each imports what is there, uses it, and takes no name of another."""

import re
from importlib.resources import files

import pytest

HOMES = {"": "maseval.report", "view/": "maseval.view"}
IMPORTED = re.compile(r'^import \{ ([^}]*) \} from "(\.\.?)/(\w+)\.js";$', re.M)
DECLARED = re.compile(
    r"^(export )?(?:async )?(?:function\*?|const|let|class) (?:([A-Za-z_]\w*)|[{\[])", re.M
)


def modules(home):
    folder = files(HOMES[home]).joinpath("assets")
    return {
        home + path.name.removesuffix(".js"): path.read_text(encoding="utf-8")
        for path in folder.iterdir()
        if path.name.endswith(".js")
    }


VIEWER = modules("view/")
ALL = {**modules(""), **VIEWER}


def declared(name, exported=False):
    return [found for export, found in DECLARED.findall(ALL[name]) if export or not exported]


@pytest.mark.parametrize("name", sorted(ALL))
def test_what_a_module_imports_exists_and_is_used(name):
    lines = re.findall(r"^import .*$", ALL[name], re.M)
    found = IMPORTED.findall(ALL[name])
    assert len(found) == len(lines)
    body = IMPORTED.sub("", ALL[name])
    for names, way, home in found:
        module = f"view/{home}" if way == "." and name in VIEWER else home
        for each in names.split(", "):
            assert each in declared(module, exported=True), f"{each} of {module}"
            assert re.search(rf"\b{each}\b", body), f"{each} is not used"


def test_no_name_is_given_twice_over_all_modules():
    every = [each for name in ALL for each in declared(name)]
    assert sorted(every) == sorted(set(every))


@pytest.mark.parametrize("name", sorted(VIEWER))
def test_no_module_writes_markup_or_styles(name):
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function"
    assert not re.search(forbidden, ALL[name])


SHEETS = {home: files(package).joinpath("assets") for home, package in HOMES.items()}


def selectors(home):
    """The selectors of a stylesheet as lists of compounds, without their states and attributes."""
    sheet = SHEETS[home].joinpath("view.css" if home else "page.css").read_text(encoding="utf-8")
    plain = re.sub(r"/\*.*?\*/|@media[^{]*\{", "", sheet, flags=re.S)
    for several in re.findall(r"([^{}]+)\{[^{}]*\}", plain):
        for one in re.split(r",(?![^(]*\))", several):
            yield re.sub(r":[\w-]+(\([^)]*\))?|\[[^\]]*\]|[>+~]", "", one).split()


def classes(compound):
    return re.findall(r"\.([\w-]+)", compound)


def components(home):
    """The classes that are styled wherever they stand: such a name is one component's own."""
    alone = (found[0] for found in selectors(home) if len(found) == 1)
    return {each.removeprefix(".") for each in alone if re.fullmatch(r"\.[\w-]+", each)}


def test_no_component_is_styled_in_two_stylesheets():
    assert not components("") & components("view/")


def test_no_class_that_modifies_a_component_is_a_component_itself():
    compounds = [each for home in HOMES for found in selectors(home) for each in found]
    modifiers = {name for each in compounds for name in classes(each)[1:]}
    assert not modifiers & (components("") | components("view/"))
