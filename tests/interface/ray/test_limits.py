"""What the processes of a cluster together may ask of a provider, in one process."""

import asyncio

import pytest

from maseval.interface.ray import limits as module
from maseval.interface.ray.limits import ClusterLimits, Grant, Join, Leave, Want, Withdraw

HERE = "acme"


@pytest.fixture(autouse=True)
def short_heartbeat(monkeypatch):
    monkeypatch.setattr(module, "_HEARTBEAT", 0.01)


class Member:
    """One process, as far as the limits know it."""

    def __init__(self, limits, name):
        self.limits, self.name, self.term = limits, name, None

    async def post(self, *events):
        await self.limits.post(self.name, [(self.term, event) for event in events])

    async def news(self):
        news = await self.limits.news(self.name, self.term)
        self.term = news.term
        return news

    async def tickets(self):
        return [grant.ticket for grant in (await self.news()).grants]


async def members(*names):
    limits = ClusterLimits()
    made = [Member(limits, name) for name in names]
    for member in made:
        await member.news()
    return limits, *made


def test_a_complaint_halves_what_all_processes_have_in_progress():
    async def story():
        limits, one, other = await members("one", "other")
        await one.post(Join(HERE, 8, True), Leave(HERE, 0, "complaint"))
        assert (await other.news()).limited == [HERE]
        await other.post(Join(HERE, 8, True), *[Leave(HERE, 0, "complaint")] * 8)
        assert await limits.limits() == {HERE: 8}

    asyncio.run(story())


def test_turns_come_in_the_order_of_asking_across_processes():
    async def story():
        _, one, other = await members("one", "other")
        await one.post(Join(HERE, 2, True), Leave(HERE, 0, "complaint"))
        await other.post(Join(HERE, 0, True), Want(HERE, 7))
        await one.post(Want(HERE, 1), Want(HERE, 2))
        assert await other.tickets() == await one.tickets() == []
        await one.post(Leave(HERE, 0, "other"))
        assert (await other.news()).grants == [Grant(HERE, 7, era=1)]
        await one.post(Withdraw(HERE, 1))
        await other.post(Leave(HERE, 1, "other"))
        assert await one.tickets() == [2]

    asyncio.run(story())


def test_while_the_provider_asks_to_wait_nobody_gets_a_turn():
    async def story():
        _, one, other = await members("one", "other")
        await one.post(Join(HERE, 9, True), Leave(HERE, 0, "complaint", rest=0.2))
        await one.post(*[Leave(HERE, 0, "other")] * 8)
        await other.post(Join(HERE, 0, True), Want(HERE, 1))
        assert await other.tickets() == []
        while not (found := await other.tickets()):
            await asyncio.sleep(0.01)
        assert found == [1]

    asyncio.run(story())


def test_a_process_that_falls_silent_leaves_its_slots_to_the_others():
    async def story():
        limits, dead, other = await members("dead", "other")
        await dead.post(Join(HERE, 2, True), Leave(HERE, 0, "complaint"), Want(HERE, 5))
        await other.post(Join(HERE, 0, True), Want(HERE, 1))
        assert await other.tickets() == []
        limits._members["dead"].heard -= 1000
        assert await other.tickets() == [1]

    asyncio.run(story())


def test_who_returns_after_it_was_forgotten_says_again_what_it_has():
    async def story():
        limits, one = await members("one")
        await one.post(Join(HERE, 8, True), Leave(HERE, 0, "complaint"))
        limits._forget("one")
        await one.post(Want(HERE, 1))
        stale = one.term
        assert (await one.news()).limited == [HERE]
        assert one.term != stale
        await one.post(Join(HERE, 4, False), Want(HERE, 2))
        assert await limits.limits() == {HERE: 4}
        assert await one.tickets() == []
        await limits.post("one", [(stale, Leave(HERE, 0, "other"))])
        assert await one.tickets() == []
        await one.post(Leave(HERE, 0, "other"))
        assert await one.tickets() == [2]

    asyncio.run(story())
