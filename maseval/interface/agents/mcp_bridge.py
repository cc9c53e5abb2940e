"""The tools of a simulation over standard streams, for agents that start their MCP servers.

Run as ``python mcp_bridge.py URL``, by its path: it needs nothing but the standard library, and is
there at once. Each message goes to the server at the address, and its answer comes back.
"""

import json
import sys
from contextlib import suppress
from urllib.request import ProxyHandler, Request, build_opener

_FORMS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_open = build_opener(ProxyHandler({})).open  # the server is on this machine


def answers(url: str, line: bytes) -> list[bytes]:
    """Return the messages that answer one; none if it was a notification."""
    try:
        with _open(Request(url, line, _FORMS)) as response:
            return [line[5:] for line in response.read().splitlines() if line[:5] == b"data:"]
    except OSError as error:
        with suppress(ValueError, TypeError, KeyError):
            failure = {"code": -32603, "message": f"the tools cannot be reached: {error}"}
            known = json.loads(line)["id"]
            return [json.dumps({"jsonrpc": "2.0", "id": known, "error": failure}).encode()]
        return []


if __name__ == "__main__":
    for given in filter(bytes.strip, sys.stdin.buffer):
        for message in answers(sys.argv[1], given):
            sys.stdout.buffer.write(message.strip() + b"\n")
        # At once, because the agent waits for the answer.
        sys.stdout.buffer.flush()
