"""The requests to the booking desk, and the rooms that they should end with.

The right room is always the smallest free one that is large enough.
"""

from maseval.core.task import Task, TaskQueue

Hours = dict[str, list[int]]


def load_tasks() -> TaskQueue:
    """Return the twelve tasks, new ones at each call."""
    return TaskQueue(
        [
            _task("pair", "A room for 2 at 10, please.", booked={"Ash": [10]}),
            _task("trio", "There are 3 of us. Anything at 9?", booked={"Birch": [9]}),
            _task("team", "Find a place for 6 people at 13.", booked={"Cedar": [13]}),
            _task("board", "The board, 11 people, meets at 16.", booked={"Elm": [16]}),
            _task("exact-fit", "Exactly 4 chairs, at 17.", booked={"Birch": [17]}),
            _task("ash-taken", "We are 2, at 11.", taken={"Ash": [11]}, booked={"Birch": [11]}),
            _task(
                "birch-taken",
                "For 4 at 12, please.",
                taken={"Ash": [12], "Birch": [12]},
                booked={"Cedar": [12]},
            ),
            _task("crowd", "A room for 20 people at 10.", booked={}),
            _task("full-house", "For 9 at 15.", taken={"Elm": [15]}, booked={}),
            # The scripted clerk takes the two first numbers it reads for people and hour. These
            # three ask for more than that, and an honest table shows it.
            _task("afternoon", "A room for 3 at 2 pm.", booked={"Birch": [14]}),
            _task("two-hours", "For 5 from 10 to 12, so two hours.", booked={"Cedar": [10, 11]}),
            _task(
                "second-choice",
                "For 12 at 9, or else at 10.",
                taken={"Elm": [9]},
                booked={"Elm": [10]},
            ),
        ]
    )


def _task(id: str, query: str, *, booked: Hours, taken: Hours | None = None) -> Task:
    return Task(
        query=query,
        id=id,
        environment_data={"taken": taken or {}},
        evaluation_data={"booked": booked},
    )
