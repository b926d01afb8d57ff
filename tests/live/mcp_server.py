"""A small MCP server on standard input and output, for tests: one tool, which repeats a text.

`DELAY` is how many seconds it takes before it answers at all; `SEES` is a variable whose value it tells as well. It asks the
proxy of its environment for each host of `TRIES`.
"""

import json
import os
import socket
import sys
import time
from urllib.parse import urlsplit

TOOL = {
    "name": "repeat",
    "description": "Repeats a text",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
}


def connect(host: str) -> None:
    proxy = urlsplit(os.environ["HTTPS_PROXY"])
    with socket.create_connection((proxy.hostname or "", proxy.port or 0), timeout=10) as line:
        line.sendall(f"CONNECT {host}:443 HTTP/1.1\r\nHost: {host}:443\r\n\r\n".encode())
        line.recv(100)


def result_of(method: str, params: dict) -> dict:  # type: ignore[type-arg]  # of the protocol
    if method == "initialize":
        info = {"name": "repeater", "version": "1"}
        version = params["protocolVersion"]
        return {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        for host in os.environ.get("TRIES", "").split():
            connect(host)
        text = f"REPEATED-{params['arguments'].get('text')}-{os.environ.get('SEES')}"
        return {"content": [{"type": "text", "text": text}]}
    return {}


time.sleep(float(os.environ.get("DELAY", "0")))
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = result_of(message["method"], message.get("params") or {})
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}) + "\n")
        sys.stdout.flush()
