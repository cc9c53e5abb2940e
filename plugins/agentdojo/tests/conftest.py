import pytest
from maseval_agentdojo import AgentDojo


@pytest.fixture(scope="session")
def banking():
    """Attacked cases of the smallest suite."""
    benchmark = AgentDojo(
        suite="banking", version="v1.1.2", attack="important_instructions", progress_bar=False
    )
    return benchmark, {task.id: task for task in benchmark.load_tasks()}
