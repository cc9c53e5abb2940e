"""Clients of the real MCP library, for tests that are not async."""

import asyncio
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import pytest

from tests.interface.libraries import needing

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
"""Both protocols of today: that of 2026, and the one with a handshake before it."""


def with_mcp(test: Callable[..., Any]) -> Callable[..., Any]:
    """A test that needs the library, at version 2."""
    marks = needing("mcp")
    if _release().startswith("1."):
        marks.append(pytest.mark.skip(reason="this is version 1 of mcp"))
    for mark in marks:
        test = mark(test)
    return test


def _release() -> str:
    try:
        return version("mcp")
    except PackageNotFoundError:
        return ""


def connected(server: Any, work: Callable[..., Any], mode: str = "auto") -> Any:
    """What ``work(client)`` gives; ``server`` is an address, or whatever else a client takes."""
    from mcp import Client

    async def run():
        async with Client(server, mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


async def text_of(client: Any, name: str, arguments: dict[str, str] | None = None) -> str:
    """The text that a tool answers."""
    (part,) = (await client.call_tool(name, arguments or {})).content
    return part.text
