"""Code of one's own as text."""

import inspect
import sys
import traceback

import pytest

from maseval.interface.ray.code import Source, install, own_modules


@pytest.fixture(autouse=True)
def import_system_as_before(monkeypatch):
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_modules_of_the_checkout_are_ones_own_and_installed_ones_are_not():
    found = own_modules()

    assert __name__ in found and "tests.core.worlds" not in sys.modules.keys() - found.keys()
    assert not {"json", "pytest", "pydantic", "maseval", "maseval.core.task"} & found.keys()
    assert found[__name__].text.startswith(b'"""Code of one')


def test_what_was_sent_is_imported_from_its_text_with_the_packages_around_it(tmp_path):
    modules = {
        "sent.inner.agent": Source(
            b"from sent.inner import helper\ndef agent(): return helper.words()\n",
            "/x/agent.py",
            False,
        ),
        "sent.inner.helper": Source(
            b"def words():\n    raise ValueError('hm')\n", "/x/h.py", False
        ),
    }
    install(modules, [str(tmp_path), "/nowhere/at/all"])

    from sent.inner.agent import agent  # type: ignore[import-not-found]

    with pytest.raises(ValueError) as caught:
        agent()
    told = "".join(traceback.format_exception(caught.value))
    assert 'File "/x/h.py", line 2, in words\n    raise ValueError' in told
    assert inspect.getsource(agent).startswith("def agent()")
    assert str(tmp_path) in sys.path and "/nowhere/at/all" not in sys.path


def test_what_was_sent_comes_before_what_lies_on_the_machine(tmp_path):
    (tmp_path / "neighbour_of_mine.py").write_text("WHO = 'there'\n")
    install({"neighbour_of_mine": Source(b"WHO = 'sent'\n", "n.py", False)}, [str(tmp_path)])

    import neighbour_of_mine  # type: ignore[import-not-found]

    assert neighbour_of_mine.WHO == "sent"
