"""The original's words laid over our own tool schemas, so that requests equal the original's.

Names, types and defaults are the same in both; descriptions are replaced or removed. The keys are
put into the order in which pydantic writes them, whatever the installed release does.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from maseval.benchmark.tau2.data import title_of
from maseval.benchmark.tau2.texts.texts import ModelText, Texts, TextsError, ToolText

ToolSchema = dict[str, Any]


def describe_tools(
    definitions: Sequence[Mapping[str, Any]], tools: Sequence[ToolText], texts: Texts, domain: str
) -> list[ToolSchema]:
    """Our function schemas of a toolkit as the original would show its own.

    ``tools`` are the original's of the same toolkit (``texts.tools[domain].assistant``); they must
    have our names and parameters, in our order.
    """
    ours = [definition["function"]["name"] for definition in definitions]
    _compare(f"the tools of {domain}", ours, [tool.name for tool in tools], texts)
    pairs = zip(definitions, tools, strict=True)
    return [described_tool(definition, tool, texts, domain) for definition, tool in pairs]


def described_tool(
    definition: Mapping[str, Any], tool: ToolText, texts: Texts, domain: str
) -> ToolSchema:
    """One function schema of ours with the original's words."""
    parameters = definition["function"]["parameters"]
    _compare(f"the parameters of {tool.name}", parameters["properties"], tool.parameters, texts)
    worded = _with_texts(parameters, None, tool.parameters)
    if "$defs" in worded:
        models = texts.models.get(domain, {})
        worded["$defs"] = {
            name: _model(name, schema, models) for name, schema in worded["$defs"].items()
        }
    schema = _in_order(worded, open_objects=texts.version == "1.0.1")
    function = {"name": tool.name, "description": tool.description, "parameters": schema}
    return {"type": "function", "function": function}


def _compare(what: str, ours: Iterable[str], theirs: Iterable[str], texts: Texts) -> None:
    ours, theirs = list(ours), list(theirs)
    if ours != theirs:
        more = [name for name in ours if name not in theirs]
        less = [name for name in theirs if name not in ours]
        raise TextsError(
            f"{what} differ from {title_of(texts.version)} of the original: only here "
            f"{', '.join(more) or 'none'}; only there {', '.join(less) or 'none'}"
            + ("" if more or less else "; their order differs")
        )


def _model(name: str, schema: ToolSchema, models: Mapping[str, ModelText]) -> ToolSchema:
    if name not in models:
        raise TextsError(f"the original has no texts for {name}")
    return _with_texts(schema, models[name].description, models[name].fields)


def _with_texts(
    schema: Mapping[str, Any], description: str | None, texts: Mapping[str, str | None]
) -> ToolSchema:
    """Return a schema with this description, and its properties with those of ``texts``."""
    worded = _with_description(schema, description)
    if "properties" in worded:
        worded["properties"] = {
            name: _with_description(inner, texts.get(name))
            for name, inner in worded["properties"].items()
        }
    return worded


def _with_description(schema: Mapping[str, Any], description: str | None) -> ToolSchema:
    kept = {key: value for key, value in schema.items() if key != "description"}
    return kept if description is None else {**kept, "description": description}


def _in_order(schema: Mapping[str, Any], *, open_objects: bool) -> ToolSchema:
    """Keys sorted at every level; the members of ``properties`` and a default stay as they are."""
    items = dict(_ordered_items(schema, open_objects))
    if _is_bare_object(items):
        # How pydantic writes a bare `dict` depends on its release: take that of the version.
        items.pop("additionalProperties", None)
        items |= {"additionalProperties": True} if open_objects else {}
    return {key: items[key] for key in sorted(items)}


def _is_bare_object(schema: ToolSchema) -> bool:
    return (
        schema.get("type") == "object"
        and "properties" not in schema
        and (schema.get("additionalProperties", True) is True)
    )


def _ordered_items(schema: Mapping[str, Any], open_objects: bool) -> Iterator[tuple[str, Any]]:
    for key, value in schema.items():
        if key in ("properties", "$defs"):
            names = sorted(value) if key == "$defs" else value
            yield key, {name: _in_order(value[name], open_objects=open_objects) for name in names}
        elif key == "default":
            yield key, value
        elif isinstance(value, dict):
            yield key, _in_order(value, open_objects=open_objects)
        elif key in ("anyOf", "allOf", "oneOf", "prefixItems"):
            yield key, [_in_order(choice, open_objects=open_objects) for choice in value]
        else:
            yield key, value
