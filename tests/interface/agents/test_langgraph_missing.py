import re

import pytest

from maseval.interface import extras
from maseval.interface.agents.langgraph import LangGraphAgentAdapter, as_tools
from maseval.interface.extras import MissingExtraError

TOLD = re.escape("langgraph is not installed. Install it with: pip install 'maseval[langgraph]'")


def test_without_the_library_the_way_to_install_it_is_told(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(MissingExtraError, match=TOLD):
        LangGraphAgentAdapter(object(), "a").run("Hi")


def test_tools_need_the_library_too(monkeypatch):
    monkeypatch.setattr(extras, "is_installed", lambda module: False)

    with pytest.raises(MissingExtraError, match=TOLD):
        as_tools([])
