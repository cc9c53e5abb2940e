"""``framework`` is each of them in turn, and in the folder of one framework that one."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.interface.agents.framework import Framework
from tests.interface.agents.frameworks import FRAMEWORKS, each
from tests.interface.agents.served import served

OF_FOLDERS = {kind.page.replace("-", "_"): kind for kind in FRAMEWORKS if not kind.variant}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = [mark.args[0] for mark in metafunc.definition.iter_markers("parametrize")]
    is_given = any(names == "kind" or "kind" in (*names,) for names in given)
    if "kind" in metafunc.fixturenames and not is_given:
        own = OF_FOLDERS.get(metafunc.definition.path.parent.name)
        kinds = each(lambda kind: own in (None, kind))
        metafunc.parametrize("kind", kinds, indirect=True, scope="module")


def pytest_collection_modifyitems(items: list[pytest.Function]) -> None:
    here = Path(__file__).parent
    for item in items:
        if item.path.parent.parent == here and item.path.parent.name in OF_FOLDERS:
            for mark in OF_FOLDERS[item.path.parent.name].marks():
                item.add_marker(mark)


@pytest.fixture(scope="module")
def kind(request: pytest.FixtureRequest) -> type[Framework]:
    return request.param


@pytest.fixture
def framework(kind: type[Framework]) -> Iterator[Framework]:
    made = kind()
    yield made
    made.close()


@pytest.fixture
def clerk(framework: Framework) -> Callable[..., Any]:
    """Makes the adapter of an agent whose model is served at a URL."""
    return framework.make


@pytest.fixture
def say(framework: Framework) -> Callable[..., Any]:
    return framework.say


@pytest.fixture
def tau2_agent(framework: Framework) -> Callable[..., Any]:
    def make(environment, url, name):
        return framework.make(url, environment.tools, name=name, instructions=environment.policy)

    return make


@pytest.fixture
def serve(framework: Framework) -> Iterator[Callable[..., Any]]:
    """Serves a model that plays replies; the model, and one of the framework's that asks it."""
    with ExitStack() as serving:

        def start(*replies, **options):
            model, url = serving.enter_context(served(*replies, **options))
            return model, framework.model_at(url)

        yield start
