"""Small simulations and results files in v0.2.0's form."""

import json
from pathlib import Path
from typing import Any


def simulation(id: str = "s1", task_id: str = "0", **more: Any) -> dict[str, Any]:
    call = {"id": "c1", "name": "calculate", "arguments": {"expression": "1 + 1"}}
    return {
        "id": id,
        "task_id": task_id,
        "timestamp": "2025-01-01T00:00:09",
        "start_time": "2025-01-01T00:00:00",
        "end_time": "2025-01-01T00:00:09",
        "duration": 9.0,
        "termination_reason": "user_stop",
        "agent_cost": 0.5,
        "user_cost": None,
        "reward_info": None,
        "messages": [
            {"role": "assistant", "content": "Hi! How can I help you today?", "cost": 0.0},
            {"role": "user", "content": 'What is 1 + 1? {"}', "raw_data": {"any": ["thing"]}},
            {"role": "assistant", "tool_calls": [{**call, "requestor": "assistant"}]},
            {"id": "c1", "role": "tool", "content": "2.0", "error": False},
            {"role": "user", "content": "###STOP###"},
        ],
        "trial": 0,
        "seed": 300,
        **more,
    }


def info() -> dict[str, Any]:
    return {
        "git_commit": "f8de30c",
        "num_trials": 1,
        "max_steps": 200,
        "max_errors": 10,
        "user_info": {"implementation": "user_simulator", "llm": "m", "llm_args": {}},
        "agent_info": {"implementation": "llm_agent", "llm": "m", "llm_args": {}},
        "environment_info": {"domain_name": "airline", "policy": "Be kind."},
        "seed": 300,
    }


def task(id: str = "0", **more: Any) -> dict[str, Any]:
    return {"id": id, "user_scenario": {"instructions": "Ask."}, **more}


def results(*simulations: object, **more: Any) -> dict[str, Any]:
    return {
        "timestamp": "2025-01-01T00:00:00",
        "info": info(),
        "tasks": [task()],
        "simulations": list(simulations),
        **more,
    }


def written(path: Path, document: object, **layout: Any) -> Path:
    path.write_text(json.dumps(document, **layout), encoding="utf-8")
    return path


def lines(path: Path, *records: object) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path
