"""``framework`` is each of them in turn, unless the tests of one say of which ``kind`` it is."""

from contextlib import ExitStack

import pytest

from tests.interface.agents.frameworks import each
from tests.interface.agents.served import served


@pytest.fixture(scope="module", params=each())
def kind(request):
    return request.param


@pytest.fixture
def framework(kind):
    made = kind()
    yield made
    made.close()


@pytest.fixture
def clerk(framework):
    """Makes the adapter of an agent whose model is served at a URL."""
    return framework.make


@pytest.fixture
def say(framework):
    return framework.say


@pytest.fixture
def tau2_agent(framework):
    def make(environment, url, name):
        return framework.make(url, environment.tools, name=name, instructions=environment.policy)

    return make


@pytest.fixture
def serve(framework):
    """Serves a model that plays replies; the model, and one of the framework's that asks it."""
    with ExitStack() as serving:

        def start(*replies, **options):
            model, url = serving.enter_context(served(*replies, **options))
            return model, framework.model_at(url)

        yield start
