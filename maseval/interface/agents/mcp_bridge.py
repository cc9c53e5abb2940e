"""The tools of a simulation over standard streams, for agents that start their MCP servers.

Run as ``python mcp_bridge.py URL``, by its path: it needs nothing but the standard library, and is
there at once. Each message goes to the server at the address, and its answer comes back.
"""

import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from urllib.error import URLError
from urllib.request import Request, urlopen

_ACCEPTED = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
_AT_ONCE = 8
_writing = threading.Lock()


def answers(url: str, line: bytes) -> list[bytes]:
    """Return the messages that answer one; none if it was a notification."""
    try:
        with urlopen(Request(url, line, _ACCEPTED)) as response:
            body = response.read()
            if response.headers.get_content_type() != "text/event-stream":
                return [body] if body.strip() else []
            return [each[5:].strip() for each in body.splitlines() if each.startswith(b"data:")]
    except (URLError, OSError) as error:
        message = json.loads(line)
        if not isinstance(message, dict) or "id" not in message:
            return []
        failure = {"code": -32603, "message": f"the tools cannot be reached: {error}"}
        return [json.dumps({"jsonrpc": "2.0", "id": message["id"], "error": failure}).encode()]


def pass_on(url: str, line: bytes) -> None:
    try:
        received = answers(url, line)
    except ValueError:  # what was sent is not JSON
        return
    with _writing:
        for message in received:
            sys.stdout.buffer.write(message + b"\n")
        sys.stdout.buffer.flush()


def main(url: str) -> None:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        for line in sys.stdin.buffer:
            if line.strip():
                pool.submit(pass_on, url, line)


if __name__ == "__main__":
    main(sys.argv[1])
