"""No environment ever sees another's writes, in one thread or in many."""

import random
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from maseval.benchmark.tau2.data_loader import load_raw_tasks
from maseval.benchmark.tau2.domains import domain_named
from maseval.benchmark.tau2.world.setting import TaskStage
from maseval.benchmark.tau2.world.tasks import initial_state

pytestmark = [pytest.mark.data]


def sequences(domain_name: str) -> list[tuple[dict, list[dict]]]:
    """Real work for a world: the start and the reference calls of tasks that have some."""
    tasks = [task for task in load_raw_tasks(domain_name) if task["evaluation_criteria"]["actions"]]
    return [
        (
            task.get("initial_state") or {},
            [
                {"requestor": "assistant", **action, "id": str(number)}
                for number, action in enumerate(task["evaluation_criteria"]["actions"])
            ],
        )
        for task in tasks
    ]


class Player:
    """A world with calls still to be made, one at a time.

    Unless it is ``alone``, its world shares all that is not changed with those of other players.
    """

    def __init__(
        self,
        domain_name: str,
        folder: Path,
        sequence: tuple[dict, list[dict]],
        *,
        alone: bool = False,
    ) -> None:
        start, self.calls = sequence
        domain = domain_named(domain_name)
        place = TaskStage(domain, folder / "domains" / domain_name, initial_state(start))
        self.world = place.set_up() if alone else place.world()
        self.answers: list[str | None] = []

    def step(self) -> None:
        if len(self.answers) < len(self.calls):
            self.answers.append(self.world.respond(self.calls[len(self.answers)])["content"])

    def finish(self) -> tuple[list[str | None], str, str | None]:
        while len(self.answers) < len(self.calls):
            self.step()
        return self.answers, self.world.get_db_hash(), self.world.get_user_db_hash()


@pytest.mark.parametrize("domain", ["airline", "retail", "telecom"])
@settings(
    max_examples=10,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(seed=st.integers(0, 2**32), threads=st.sampled_from([1, 4]))
def test_interleaved_worlds_end_as_each_does_alone(tau2_data, domain, seed, threads):
    chance = random.Random(seed)
    chosen = chance.choices(sequences(domain), k=6)
    alone = [Player(domain, tau2_data, sequence, alone=True).finish() for sequence in chosen]

    players = [Player(domain, tau2_data, sequence) for sequence in chosen]
    if threads == 1:
        for _ in range(60):
            chance.choice(players).step()
        together = [player.finish() for player in players]
    else:
        with ThreadPoolExecutor(threads) as pool:
            together = list(pool.map(Player.finish, players))

    assert together == alone
