"""A gate's verdict as JUnit XML, which CI services show as a list of tests.

One test stands for the gate, and one for each task. A task that passes less often is a failure only
if the gate fails: within chance it is shown as skipped, so that a service which turns red at any
failure does not contradict the verdict.
"""

import xml.etree.ElementTree as ET
from collections.abc import Iterator

from maseval.app.comparing.gate import Gate
from maseval.core.outcome import TaskKey
from maseval.stats import Flip
from maseval.stats.trials import by_task


def junit(gate: Gate) -> bytes:
    """The XML document."""
    suite = ET.Element("testsuite", name=_text(f"{gate.two.names[1]} against {gate.two.names[0]}"))
    suite.extend([_gate_case(gate), *_task_cases(gate)])
    for name, tag in (("failures", "failure"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in suite)))
    suite.set("tests", str(len(suite)))
    suite.set("errors", "0")
    document = ET.Element("testsuites")
    document.append(suite)
    ET.indent(document)
    written: bytes = ET.tostring(document, encoding="utf-8", xml_declaration=True)
    return written


def _gate_case(gate: Gate) -> ET.Element:
    case = ET.Element("testcase", classname="maseval.gate", name=f"{gate.main.name} not worse")
    found = gate.main
    if gate.verdict == "worse":
        words = f"{found.first:.1%} before, {found.second:.1%} now, p = {found.test.p_value:.2g}"
        ET.SubElement(case, "failure", message=words)
    return case


def _task_cases(gate: Gate) -> Iterator[ET.Element]:
    fallen = {TaskKey(flip.group, flip.task): flip for flip in gate.fell}
    for key in by_task(gate.run.outcomes):
        classname = f"maseval.{key.group}" if key.group else "maseval"
        case = ET.Element("testcase", classname=_text(classname), name=_text(key.task))
        if key in fallen:
            tag = "failure" if gate.verdict == "worse" else "skipped"
            ET.SubElement(case, tag, message=_change(fallen[key]))
        yield case


def _change(flip: Flip) -> str:
    before, now = flip.first, flip.second
    return f"passed {now.passed} of {now.total} trials, {before.passed} of {before.total} before"


def _text(text: str) -> str:
    """Without the characters that XML has no way to write."""
    return "".join(char if char.isprintable() else "\ufffd" for char in text)
