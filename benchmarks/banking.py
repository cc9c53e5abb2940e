"""What banking_knowledge costs, beside retail in the same run: ``python -m benchmarks.banking``.

The unit Y is the time in which ``json.loads`` reads the airline's database in the same run.
"""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks.table import best, show
from benchmarks.tau2 import in_y, yardstick
from maseval.benchmark.tau2.data_loader import load_domain_config, load_raw_tasks
from maseval.benchmark.tau2.domains import Domain
from maseval.benchmark.tau2.domains.banking_knowledge.documents import BM25, knowledge_base
from maseval.benchmark.tau2.domains.releases import V1_0_1
from maseval.benchmark.tau2.formats.message import Tau2ToolCall
from maseval.benchmark.tau2.scoring.score import score_simulation
from maseval.benchmark.tau2.texts.texts import TextsError
from maseval.benchmark.tau2.world.setting import Setting
from maseval.benchmark.tau2.world.tasks import TaskSpec
from maseval.data.files import DataError

QUESTION = "How much does a withdrawal at an out-of-network ATM cost with the Blue Account?"


class Case(NamedTuple):
    """A domain, one of its tasks, and two calls in it."""

    domain: Domain
    task: str
    read: Tau2ToolCall
    write: Tau2ToolCall


def call(name: str, **arguments: object) -> Tau2ToolCall:
    return {"id": "call", "name": name, "arguments": arguments, "requestor": "assistant"}


CASES = (
    Case(
        V1_0_1.domains["banking_knowledge@bm25"],
        "task_007",
        call("get_user_information_by_id", user_id="123"),
        call("change_user_email", user_id="123", new_email="a@b.example"),
    ),
    Case(
        V1_0_1.domains["retail"],
        "0",
        call("get_order_details", order_id="#W2378156"),
        call(
            "modify_user_address",
            **{"user_id": "yusuf_rossi_9620", "address1": "1 Street", "address2": "", "city": "A"},
            **{"state": "B", "country": "USA", "zip": "12345"},
        ),
    ),
)


def main() -> int:
    """Print the table, or why it is left out: the original's files cannot be had everywhere."""
    try:
        unit = yardstick()
        rows = [row for case in CASES for row in of_domain(case, unit)]
        rows += of_search(unit)
    except (DataError, TextsError) as error:
        print(f"banking_knowledge is not measured, for want of v1.0.1's data or texts: {error}")
        return 0
    show(
        f"banking_knowledge beside retail; Y = {unit * 1e3:.0f} ms",
        ("what", "domain", "ms", "in Y"),
        rows,
    )
    return 0


def of_domain(case: Case, unit: float) -> list[tuple[object, ...]]:
    """What a simulation is made of."""
    domain = case.domain
    folder = Path(load_domain_config(domain)["db_path"]).parent
    raw = next(task for task in load_raw_tasks(domain, None) if task["id"] == case.task)
    setting = Setting(domain, folder, TaskSpec.of(raw), rules=V1_0_1.rules)
    world = setting.world()
    simulation = perfect(setting, case.task)
    score_simulation(simulation, domain=domain)
    return [
        measured("environment", domain, setting.world, unit),
        measured("reading call", domain, lambda: world.respond(case.read), unit),
        measured("writing call", domain, lambda: world.respond(case.write), unit),
        measured("verdict", domain, lambda: score_simulation(simulation, domain=domain), unit),
    ]


def perfect(setting: Setting, task_id: str) -> dict[str, object]:
    """The conversation of an agent that does what the reference solution does."""
    world, messages = setting.world(), []
    for action in setting.task.actions:
        call = action.call()
        role = "assistant" if call["requestor"] == "assistant" else "user"
        messages += [{"role": role, "content": None, "tool_calls": [call]}, world.respond(call)]
    return {
        "id": "perfect",
        "task_id": task_id,
        "termination_reason": "user_stop",
        "messages": messages,
    }


def of_search(unit: float) -> list[tuple[object, ...]]:
    """What a search of the 698 documents takes."""
    domain = CASES[0].domain
    knowledge = knowledge_base(Path(load_domain_config(domain)["db_path"]).parent)
    contents = [document.content for document in knowledge.documents]
    knowledge.best(QUESTION, 10)
    return [
        measured("BM25 index", domain, lambda: BM25(contents), unit, times=1),
        measured("BM25 search", domain, lambda: knowledge.best(QUESTION, 10), unit),
        measured("grep", domain, lambda: knowledge.matching("out-of-network", 10), unit),
    ]


def measured(
    what: str, domain: Domain, work: Callable[[], object], unit: float, times: int = 50
) -> tuple[object, ...]:
    """A row: the best mean of five rounds."""

    def rounds() -> None:
        for _ in range(times):
            work()

    taken = best(rounds) / times
    return what, domain.name, f"{taken * 1e3:.3f}", in_y(taken, unit)


if __name__ == "__main__":
    sys.exit(main())
