"""What was run: models, domains, trials, seeds, and the versions of rules, data and code."""

from collections.abc import Iterable, Iterator, Sequence

from maseval.core.storage.redaction import redact_text
from maseval.report.shapes import Shape, entries, mapping, number, text

Fact = tuple[str, str]

# What the engine records of every machine; anything beside it was put there by the benchmark.
_MACHINE = frozenset({"environment", "git", "packages", "python", "system", "timestamp"})
_SHOWN = 6


def run_facts(reports: Sequence[Shape]) -> list[Fact]:
    """What all reports together say of the run, without a word that could be a secret."""
    found: dict[str, dict[str, None]] = {}
    for report in reports:
        for name, value in _facts_of(report):
            found.setdefault(name, {})[redact_text(value)] = None
    for name, value in _facts_of_benchmarks(reports):
        found.setdefault(name, {})[redact_text(value)] = None
    return [(name, _some(list(values))) for name, values in found.items()]


def _facts_of(report: Shape) -> Iterator[Fact]:
    metadata = mapping(report, "task", "metadata")
    for key in ("domain", "split"):
        if metadata.get(key) is not None:
            yield key.capitalize(), text(metadata[key])
    for agent in mapping(report, "config", "agents").values():
        yield from _agent(mapping(agent))
    yield from _models(report)
    if report.get("seed") is not None:
        yield "Seed", text(report["seed"])
    if report.get("run_id"):
        yield "Run", text(report["run_id"])


def _agent(agent: Shape) -> Iterator[Fact]:
    """A player that needs no model says so; of any other agent, its kind."""
    name = agent.get("player") or agent.get("agent_type")
    if name is not None:
        rate = agent.get("error_rate")
        yield "Agent", text(name) if rate is None else f"{text(name)}, error rate {text(rate)}"


def _models(report: Shape) -> Iterator[Fact]:
    for name, model in mapping(report, "config", "models").items():
        model_id = mapping(model).get("model_id")
        if model_id is not None:
            yield f"Model of {str(name).removesuffix('_model').replace('_', ' ')}", text(model_id)


def _facts_of_benchmarks(reports: Iterable[Shape]) -> Iterator[Fact]:
    """All reports of a run share one object, which is looked at once."""
    shared = {id(each): each for each in (mapping(r, "config", "benchmark") for r in reports)}
    for benchmark in shared.values():
        for name, part in benchmark.items():
            if name not in _MACHINE:
                yield from _settings(str(name), part)
        packages, git = mapping(benchmark, "packages"), mapping(benchmark, "git")
        if "maseval" in packages:
            yield "maseval", text(packages["maseval"])
        if git.get("commit_hash_short"):
            dirty = " with changes" if git.get("is_dirty") else ""
            yield "Commit", f"{text(git['commit_hash_short'])}{dirty}"
        if "version" in mapping(benchmark, "python"):
            yield "Python", text(mapping(benchmark, "python")["version"])


def _settings(name: str, value: object) -> Iterator[Fact]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _settings(f"{name} {str(key).replace('_', ' ')}", part)
    else:
        yield name, text(value)


def _some(values: list[str]) -> str:
    rest = len(values) - _SHOWN
    return ", ".join(values[:_SHOWN]) + (f" and {rest} more" if rest > 0 else "")


def usage_rows(report: Shape) -> list[dict[str, object]]:
    """Tokens and cost of each component that used any, with those of earlier attempts."""
    rows = list(_usage_of(report, ""))
    for number_of, attempt in enumerate(entries(report.get("attempts")), start=1):
        rows += _usage_of(mapping(attempt), f" (attempt {number_of})")
    return rows


def total_cost(report: Shape) -> float | None:
    """What a repetition cost, as far as it is known."""
    costs = [cost for row in usage_rows(report) if (cost := number(row["cost"])) is not None]
    return sum(costs) if costs else None


def _usage_of(report: Shape, attempt: str) -> Iterator[dict[str, object]]:
    for category, part in mapping(report, "usage").items():
        if category == "metadata":
            continue
        used = mapping(part)
        single = "cost" in used or "input_tokens" in used
        for name, record in ({str(category): used} if single else used).items():
            row = _usage_row(f"{name}{attempt}", mapping(record))
            if any(value for key, value in row.items() if key != "name"):
                yield row


def _usage_row(name: str, record: Shape) -> dict[str, object]:
    return {
        "name": name,
        "input": number(record.get("input_tokens")),
        "cached": number(record.get("cached_input_tokens")),
        "output": number(record.get("output_tokens")),
        "cost": number(record.get("cost")),
    }
