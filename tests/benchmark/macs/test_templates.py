import pytest

from maseval.benchmark.macs import MACSDataError
from maseval.benchmark.macs.evaluator import constants_in, load_templates
from maseval.core.words import fill_template


def test_texts_names_and_their_sums_are_read():
    source = b'A = "one {x} "\nB = A + "two" + A\n'
    assert constants_in(source) == {"A": "one {x} ", "B": "one {x} twoone {x} "}


@pytest.mark.parametrize(
    ("source", "line"),
    [
        ('A = "a"\nimport os\n', 2),
        ("A = open('x').read()\n", 1),
        ('A = f"{1}"\n', 1),
        ('A = B = "a"\n', 1),
        ('A = "a"\nA += "b"\n', 2),
        ("A = 1\n", 1),
        ("A = B\n", 1),
        ('A = "a" * 3\n', 1),
        ('def f():\n    return "a"\n', 1),
    ],
)
def test_any_other_statement_is_refused_with_its_line_and_nothing_is_executed(source, line):
    with pytest.raises(MACSDataError, match=rf"prompt_templates\.py, line {line}: "):
        constants_in(source.encode())


def test_a_template_is_filled_in_one_pass():
    values = {"scenario": "{{history}} and {scenario}", "history": "said"}
    assert fill_template("S {{scenario}} H {{history}} {{other}}", values) == (
        "S {{history}} and {scenario} H said {{other}}"
    )


def test_a_file_without_the_three_templates_is_refused(monkeypatch):
    content = b'USER_GSR_PROMPT = "u"\n'
    monkeypatch.setattr(
        "maseval.benchmark.macs.evaluator.original_files",
        lambda names, data_dir, verbose: {name: content for name in names},
    )
    with pytest.raises(MACSDataError, match="does not define SYSTEM_GSR_PROMPT, ISSUES_PROMPT"):
        load_templates()
