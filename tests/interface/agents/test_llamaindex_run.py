import pytest

from maseval.interface import extras
from maseval.interface.agents.llamaindex import LlamaIndexAgentAdapter, LlamaIndexLLMUser, as_tools


def look(text: str) -> str:
    """Look at something."""
    return text


@pytest.mark.skipif(extras.is_installed("llama_index.core"), reason="llama_index is installed")
def test_without_the_library_the_command_that_installs_it_is_named():
    way_out = r"llama-index-core is not installed.*pip install 'maseval\[llamaindex\]'"

    with pytest.raises(extras.MissingExtraError, match=way_out):
        as_tools([look])
    with pytest.raises(extras.MissingExtraError, match=way_out):
        LlamaIndexAgentAdapter(object(), "clerk").run("Hi")
    with pytest.raises(extras.MissingExtraError, match=way_out):
        LlamaIndexLLMUser("user", None, {}, "Ask.", "Hi").get_tool()
