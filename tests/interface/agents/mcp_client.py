"""Clients of the real MCP library, for tests that are not async."""

import asyncio

import pytest

from tests.interface.libraries import needing

MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])
"""Both protocols of today: that of 2026, and the one with a handshake before it."""


def with_mcp(test):
    """A test that needs the library, at version 2."""
    for mark in needing("mcp_types"):
        test = mark(test)
    return test


def connected(server, work, mode="auto"):
    """What ``work(client)`` gives; ``server`` is an address, or whatever else a client takes."""
    from mcp import Client

    async def run():
        async with Client(server, mode=mode) as client:
            return await work(client)

    return asyncio.run(run())


async def text_of(client, name, arguments=None):
    """The text that a tool answers."""
    (part,) = (await client.call_tool(name, arguments or {})).content
    return part.text
