"""Is a domain right? Its form, its files and tools, and every one of its tasks.

A task is played here as the evaluator plays it, so that a reference solution which cannot work is
found before a model is paid for failing at it.
"""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from maseval.benchmark.tau2.conversation.messages import ToolCall
from maseval.benchmark.tau2.data_loader import load_domain_config, load_raw_tasks
from maseval.benchmark.tau2.domains import Domain, domain_named
from maseval.benchmark.tau2.domains.faults import faults
from maseval.benchmark.tau2.world.gold import GoldState, gold_state
from maseval.benchmark.tau2.world.tasks import Action, RewardType, TaskSpec
from maseval.benchmark.tau2.world.world import World
from maseval.core.exceptions import TaskFormatError


def check_domain(domain: str | Domain) -> list[str]:
    """A sentence for each problem of a domain or of one of its tasks; empty if all is well."""
    chosen = domain_named(domain)
    found = faults(chosen)
    if found:  # then no task could be played
        return found
    folder = load_domain_config(chosen)["db_path"].parent
    return [
        problem
        for split in {file: split for split, file in chosen.task_files.items()}.values()
        for problem in _problems_of_split(chosen, split, folder)
    ]


def _problems_of_split(domain: Domain, split: str, folder: Path) -> Iterator[str]:
    try:
        tasks = load_raw_tasks(domain, split)
    except TaskFormatError as error:
        yield str(error)
        return
    counted = Counter(raw.get("id") for raw in tasks)
    for task_id, count in counted.items():
        if not task_id:
            yield f"{count} tasks of {split!r} have no id"
        elif count > 1:
            yield f"{count} tasks of {split!r} have the id {task_id!r}"
    for raw in tasks:
        try:
            task = TaskSpec.of(raw)
        except TaskFormatError as error:
            yield str(error)
            continue
        for problem in _problems_of_task(domain, task, folder):
            yield f"task {raw.get('id')!r}: {problem}"


def _problems_of_task(domain: Domain, task: TaskSpec, folder: Path) -> Iterator[str]:
    unknown = list(_unknown_names(domain, task, folder))
    if unknown:
        yield from unknown
        return
    try:
        gold = gold_state(domain, folder, task)
        yield from (f"{fault.name} fails: {fault.error}" for fault in gold.errors)
        yield from _problems_of_end(domain, task, folder, gold)
    except Exception as error:  # a task's own functions: their faults are findings
        yield f"cannot be played: {type(error).__name__}: {error}"


def _unknown_names(domain: Domain, task: TaskSpec, folder: Path) -> Iterator[str]:
    world, criteria = World(domain, folder), task.evaluation_criteria
    sides = {"assistant": world.tools, "user": world.user_tools}
    for action in task.actions:
        toolkit = sides[action.requestor]
        if toolkit is None or not toolkit.has_tool(action.name):
            yield f"the {action.requestor} has no tool {action.name!r}"
    asserted = [each.model_dump() for each in (criteria and criteria.env_assertions) or ()]
    for call in [*(task.start.initialization_actions or ()), *asserted]:
        toolkit = sides.get(call["env_type"])
        try:
            if toolkit is None:
                raise AttributeError(f"there is no side {call['env_type']!r} with tools")
            toolkit.task_function(call["func_name"])
        except AttributeError as error:
            yield f"{error}; mark what tasks may call with for_tasks"


def _problems_of_end(
    domain: Domain, task: TaskSpec, folder: Path, gold: GoldState
) -> Iterator[str]:
    criteria = task.evaluation_criteria
    if criteria is None or (criteria.actions is None and criteria.env_assertions is None):
        return
    world = _carried_out(domain, task, folder)
    if RewardType.DB in criteria.reward_basis and world.state() != gold.state:
        yield (
            "the reference solution leads elsewhere when the two sides are synchronised after "
            "each call, as they are in a run, so nobody can earn DB; leave it out of reward_basis "
            "and use env_assertions"
        )
    for assertion in criteria.env_assertions or ():
        if not world.check(assertion.model_dump()):
            yield f"the reference solution does not meet {assertion.message or assertion}"


def _carried_out(domain: Domain, task: TaskSpec, folder: Path) -> World:
    world, start = World(domain, folder), task.start
    world.set_state(
        start.initialization_data, start.initialization_actions, start.message_history or []
    )
    for number, action in enumerate(task.actions):
        world.respond(_call(number, action))
    return world


def _call(number: int, action: Action) -> ToolCall:
    return {
        "id": str(number),
        "name": action.name,
        "arguments": action.arguments,
        "requestor": action.requestor,
    }
