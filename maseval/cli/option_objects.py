"""The options of an options object, as the command line shows and reads them.

Named values are typed as a JSON object, a file with one, or ``key=value``.
"""

import inspect
import json
from collections.abc import Callable
from dataclasses import MISSING
from pathlib import Path
from typing import Annotated, Any, get_origin

import typer

from maseval.app.running.options import ExtraArguments, Flag, OptionSpec, list_options
from maseval.cli import completion
from maseval.cli.console import here, inert, stdout
from maseval.cli.run_file import ConfigFile, SavedConfig, save_options

_COMPLETIONS: dict[str, Callable[..., completion.Offer]] = {
    "domain": completion.domains,
    "task_id": completion.tasks_of_domain,
}


def command_with(
    options: type, *, file: bool = False
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of an options object, beside those of its own.

    The function's first parameter gets what was given, as keywords for the object. With ``file``
    the options can be read from a file and written to one.
    """
    listed = [each for each in list_options(options) if each.flag]

    def decorate(function: Callable[..., None]) -> Callable[..., None]:
        def command(**given: Any) -> None:
            values = {each.name: _value_of(each, given) for each in listed}
            if file and _save_if_asked(listed, values, given):
                return
            function(values, **given)

        _, *own = inspect.signature(function).parameters.values()
        others = [_keyword(each.name, each.annotation, each.default) for each in own]
        if file:
            others += [_keyword("config", ConfigFile, None)]
            others += [_keyword("save_config", SavedConfig, None)]
        vars(command)["__signature__"] = inspect.Signature([*_parameters(listed), *others])
        command.__name__, command.__doc__ = function.__name__, function.__doc__
        return command

    return decorate


def _save_if_asked(
    options: list[OptionSpec], values: dict[str, Any], given: dict[str, Any]
) -> bool:
    """Write the options to the file that was named, if one was; what is as usual is left out."""
    path, _ = given.pop("save_config"), given.pop("config")
    if path is None:
        return False
    usual = {each.name: _default(each) for each in options}
    named = {"benchmark": given["benchmark"]} if "benchmark" in given else {}
    chosen = {
        name: value
        for name, value in {**named, **values}.items()
        if value != usual.get(name) and value not in ([], {})
    }
    save_options(path, given["context"], chosen)
    stdout().print(f"Written: {inert(here(path))}")
    return True


def _parameters(options: list[OptionSpec]) -> list[inspect.Parameter]:
    shown = [_parameter(each, each.flag) for each in options if each.flag]
    aliases = [_alias(each, each.flag) for each in options if each.flag and each.flag.alias]
    return [*shown, *aliases]


def _parameter(option: OptionSpec, flag: Flag) -> inspect.Parameter:
    name = f"--{option.name.replace('_', '-')}"
    spelling = f"{name}/--no-{name[2:]}" if option.default is True else name
    shown = typer.Option(
        *filter(None, (spelling, flag.short)),
        help=f"{flag.help}.",
        rich_help_panel=flag.panel,
        envvar=f"MASEVAL_{option.name.upper()}" if flag.env else None,
        autocompletion=_COMPLETIONS.get(option.name),
    )
    if option.default is MISSING:
        return _keyword(option.name, Annotated[flag.typed or option.type, shown])
    typed = flag.typed | None if flag.typed else option.type
    return _keyword(option.name, Annotated[typed, shown], _default(option))


def _default(option: OptionSpec) -> object:
    return None if option.default == () else option.default


def _alias(option: OptionSpec, flag: Flag) -> inspect.Parameter:
    typed = (flag.typed or option.type) | None
    return _keyword(str(flag.alias), Annotated[typed, typer.Option(hidden=True)], None)


def _keyword(
    name: str, kind: object, default: object = inspect.Parameter.empty
) -> inspect.Parameter:
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(name, keyword, default=default, annotation=kind)


def _value_of(option: OptionSpec, given: dict[str, Any]) -> object:
    """Return the value typed under the option's own name, or under that of tau2-bench."""
    value, flag = given.pop(option.name), option.flag
    other = given.pop(flag.alias, None) if flag and flag.alias else None
    if flag and get_origin(flag.typed) is list:
        value = [*(value or ()), *(other or ())]
    elif other and value == _default(option):
        value = other
    return arguments(value) if option.type == ExtraArguments | None else value


def arguments(texts: list[str] | None) -> dict[str, object]:
    """Parse JSON objects, files with one, and ``key=value``; given several times, all count."""
    merged: dict[str, object] = {}
    for text in texts or ():
        merged |= _json_object(text) if text.lstrip().startswith("{") else _from_file_or_pairs(text)
    return merged


def _from_file_or_pairs(text: str) -> dict[str, object]:
    if not text.endswith(".json") or "=" in text:
        return _key_value_pairs(text)
    try:
        return _json_object(Path(text).read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise typer.BadParameter(f"{text} cannot be read: {error}") from None


def _json_object(text: str) -> dict[str, object]:
    try:
        value = json.loads(text)
    except ValueError as error:
        raise typer.BadParameter(f"not a JSON object ({error})") from None
    if not isinstance(value, dict):
        raise typer.BadParameter("not a JSON object")
    return value


def _key_value_pairs(text: str) -> dict[str, object]:
    parts = text.split(",")
    pairs = {}
    for pair in parts if all("=" in part for part in parts) else [text]:
        key, equals, value = pair.partition("=")
        if not equals or not key.strip():
            # The text itself is not repeated: it may be a key that was typed in the wrong place.
            raise typer.BadParameter(
                "neither a JSON object like '{\"temperature\": 0}', nor a .json file, nor "
                "key=value like temperature=0"
            )
        pairs[key.strip()] = _json_or_text(value.strip())
    return pairs


def _json_or_text(text: str) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return text
