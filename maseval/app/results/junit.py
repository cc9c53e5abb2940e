"""JUnit's XML, which CI services read."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from maseval.app.results.checklist import Checklist


def junit_suite(name: str, cases: Sequence[ET.Element]) -> bytes:
    suite = ET.Element("testsuite", name=_xml_text(name))
    suite.extend(cases)
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.find(tag) is not None for case in suite)))
    suite.set("tests", str(len(suite)))
    document = ET.Element("testsuites")
    document.append(suite)
    ET.indent(document)
    written: bytes = ET.tostring(document, encoding="utf-8", xml_declaration=True)
    return written


def junit_case(classname: str, name: str, tag: str | None = None, message: str = "") -> ET.Element:
    """Return a test case; what went wrong is a message under a tag, such as ``failure``."""
    case = ET.Element("testcase", classname=_xml_text(classname), name=_xml_text(name))
    if tag is not None:
        ET.SubElement(case, tag, message=_xml_text(message))
    return case


def _xml_text(text: str) -> str:
    # XML has no way to write control characters, not even escaped.
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def checklist_suite(checklist: Checklist, allowed: Iterable[str] = ()) -> bytes:
    """Return a rehearsal's checklist as JUnit XML, with a test for each item."""
    if checklist.refused:
        refused = junit_case("maseval.rehearsal", "rehearsal", "error", checklist.refused)
        return junit_suite("rehearsal", [refused])
    missed, cases = checklist.missed(allowed), []
    for each in checklist.items:
        tag = "failure" if each in missed else "skipped" if each.is_missed else None
        words = "; ".join([str(each), *each.findings])
        cases.append(junit_case("maseval.rehearsal", each.name, tag, words))
    return junit_suite("rehearsal", cases)
