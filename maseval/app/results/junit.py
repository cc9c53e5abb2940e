"""JUnit's XML, which CI services read."""

import xml.etree.ElementTree as ET
from collections.abc import Iterable, Sequence

from maseval.app.results.checklist import Checklist


def junit_suite(name: str, cases: Sequence[ET.Element]) -> bytes:
    """Return test cases as a file of JUnit XML."""
    suite = ET.Element("testsuite", name=xml_text(name))
    suite.extend(cases)
    for plural, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(plural, str(sum(case.find(tag) is not None for case in suite)))
    suite.set("tests", str(len(suite)))
    document = ET.Element("testsuites")
    document.append(suite)
    ET.indent(document)
    written: bytes = ET.tostring(document, encoding="utf-8", xml_declaration=True)
    return written


def xml_text(text: str) -> str:
    """Replace the characters that XML cannot hold."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)


def checklist_suite(checklist: Checklist, allowed: Iterable[str] = ()) -> bytes:
    """Return a rehearsal's checklist as JUnit XML, with a test for each item."""
    cases = []
    for each in checklist.items:
        case = ET.Element("testcase", classname="maseval.rehearsal", name=each.name)
        if each.is_missed:
            tag = "failure" if each in checklist.missed(allowed) else "skipped"
            words = "; ".join([str(each), *each.findings])
            ET.SubElement(case, tag, message=xml_text(words))
        cases.append(case)
    if checklist.refused:
        cases = [ET.Element("testcase", classname="maseval.rehearsal", name="rehearsal")]
        ET.SubElement(cases[0], "error", message=xml_text(checklist.refused))
    return junit_suite("rehearsal", cases)
