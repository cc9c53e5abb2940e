"""What was run: models, domains, trials, seeds, and the versions of rules, data and code."""

from collections.abc import Iterable, Iterator
from itertools import chain

from maseval.core.outcome import ComponentUsage, usage_of
from maseval.core.shapes import Shape, mapping, number, text
from maseval.core.storage.redaction import redact_text

Fact = tuple[str, str]

# What the engine records of every machine; anything beside it was put there by the benchmark.
_MACHINE = frozenset({"environment", "git", "packages", "python", "system", "timestamp"})
_SHOWN = 6


def gathered(
    started: Iterable[str],
    more: Iterable[Fact],
    each: Iterable[Iterable[Fact]],
    benchmarks: Iterable[Shape],
) -> list[Fact]:
    """The facts of a run, without anything that could be a secret.

    ``started`` says when each simulation was, ``each`` has the facts of each, and ``benchmarks``
    the settings that they share.
    """
    found: dict[str, dict[str, None]] = {}
    when = _dates(started)
    dated = [("Date", when)] if when else []
    own = chain.from_iterable(each)
    for name, value in chain(dated, more, own, _facts_of_benchmarks(benchmarks)):
        found.setdefault(name, {})[value] = None
    return [(name, _some([*dict.fromkeys(map(redact_text, v))])) for name, v in found.items()]


def _dates(started: Iterable[str]) -> str:
    """When the first simulation began, and when the last one did if that was another day."""
    known = sorted(filter(None, started))
    if not known:
        return ""
    first, last = known[0][:16].replace("T", " "), known[-1][:16].replace("T", " ")
    return first if first[:10] == last[:10] else f"{first} to {last}"


def facts_of(report: Shape) -> Iterator[Fact]:
    """What one report says of the run; it may hold secrets."""
    metadata = mapping(report, "task", "metadata")
    for key in ("domain", "split", "attribution"):
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
    """The name of a scripted agent; the type of any other."""
    name = agent.get("player") or agent.get("agent_type")
    if name is not None:
        rate = agent.get("error_rate")
        yield "Agent", text(name) if rate is None else f"{text(name)}, error rate {text(rate)}"


def _models(report: Shape) -> Iterator[Fact]:
    for name, model in mapping(report, "config", "models").items():
        model_id = mapping(model).get("model_id")
        if model_id is not None:
            yield f"Model of {_role(str(name))}", text(model_id)


def _role(name: str) -> str:
    """What a model does; many agents or tools that each have one are named together."""
    plain = name.removesuffix("_model")
    kind, several, _ = plain.partition("_")
    return f"{kind}s" if several and kind in ("agent", "tool") else plain.replace("_", " ")


def _facts_of_benchmarks(benchmarks: Iterable[Shape]) -> Iterator[Fact]:
    """All reports of a run share one object, which is looked at once."""
    shared = {id(each): each for each in benchmarks}
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
    rows = [_usage_row(each) for each in usage_of(report)]
    return [row for row in rows if any(value for key, value in row.items() if key != "name")]


def _usage_row(used: ComponentUsage) -> dict[str, object]:
    category, _, name = used.component.partition(":")
    attempt = "" if used.attempt is None else f" (attempt {used.attempt})"
    return {
        "name": f"{name or category}{attempt}",
        "input": number(used.record.get("input_tokens")),
        "cached": number(used.record.get("cached_input_tokens")),
        "output": number(used.record.get("output_tokens")),
        "cost": number(used.record.get("cost")),
    }
