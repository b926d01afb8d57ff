"""A program in the sandbox that speaks the Agent Client Protocol (version 1) with one agent, for one prompt.

It is started as `python -I -S client.py`, reads the agent's argv and the prompt as JSON from stdin, and prints events
as lines of JSON. The agent inherits its stderr. It offers the agent no files and no terminal, and grants permission by the
kind of tool. It imports nothing from Podium.
"""

import contextlib
import http.client
import json
import os
import pathlib
import shlex
import signal
import sys
import time
import urllib.parse

VERSION = 1
LEAVE_S = 2.0
NO_SUCH_METHOD = -32601


class Gone(Exception):
    """The agent has ended."""


class Refused(Exception):
    """The agent answers a request with an error."""


class Connection:
    """The connection to the agent: one request at a time; the agent's own requests are answered meanwhile."""

    def __init__(self, argv: list[str], allowed: list[str], approve: dict | None) -> None:  # type: ignore[type-arg]  # JSON
        ours_in, theirs_out = os.pipe()
        theirs_in, ours_out = os.pipe()
        actions = [
            (os.POSIX_SPAWN_DUP2, theirs_in, 0),
            (os.POSIX_SPAWN_DUP2, theirs_out, 1),
            *((os.POSIX_SPAWN_CLOSE, pipe) for pipe in (ours_in, ours_out)),
        ]
        self.pid = os.posix_spawnp(argv[0], argv, os.environ, file_actions=actions)
        os.close(theirs_in)
        os.close(theirs_out)
        self._from = os.fdopen(ours_in, "rb")
        self._to = os.fdopen(ours_out, "wb")
        self._allowed = allowed
        self._approve = approve
        self._number = 0

    def ask(self, method: str, **params: object) -> dict:  # type: ignore[type-arg]  # JSON-RPC
        self._number += 1
        self._send({"id": self._number, "method": method, "params": params})
        while True:
            message = self._read()
            if "method" in message:
                self._handle(message)
            elif message.get("id") == self._number:
                if isinstance(message.get("error"), dict):
                    raise Refused(message["error"])
                result = message.get("result")
                return result if isinstance(result, dict) else {}

    def close(self) -> int | None:
        """Close the pipe to the agent; returns its exit code, or None if it does not end by itself."""
        with contextlib.suppress(OSError):
            self._to.close()
        end = time.monotonic() + LEAVE_S
        while time.monotonic() < end:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                return os.waitstatus_to_exitcode(status)
            time.sleep(0.02)
        return None

    def _send(self, message: dict) -> None:  # type: ignore[type-arg]  # JSON-RPC
        try:
            self._to.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
            self._to.flush()
        except OSError as error:
            raise Gone from error

    def _read(self) -> dict:  # type: ignore[type-arg]  # JSON-RPC
        while line := self._from.readline():
            try:
                message = json.loads(line)
            except (ValueError, RecursionError):
                message = None
            if isinstance(message, dict):
                return message
            say("noise", text=line[:200].decode("utf-8", "replace"))
        raise Gone

    def _handle(self, message: dict) -> None:  # type: ignore[type-arg]  # JSON-RPC
        params = message.get("params")
        params = params if isinstance(params, dict) else {}
        if message["method"] == "session/update":
            say("update", update=params.get("update"))
        elif message["method"] == "session/request_permission":
            self._send({"id": message.get("id"), "result": {"outcome": self._permitted(params)}})
        elif "id" in message:
            error = {"code": NO_SUCH_METHOD, "message": f"{message['method']} is not supported"}
            self._send({"id": message["id"], "error": error})

    def _permitted(self, params: dict) -> dict:  # type: ignore[type-arg]  # of the protocol
        call = params.get("toolCall")
        call = call if isinstance(call, dict) else {}
        kind = call.get("kind") or "other"
        # The tools of the step record words only, and their kind is unknown to the agent.
        allowed = kind in self._allowed or str(call.get("title") or "").startswith("mcp__podium__")
        if allowed and self._approve is not None and kind in self._approve["kinds"]:
            answer = ask_person(self._approve, kind, call)
            if answer.get("interrupt"):
                self._send({"method": "session/cancel", "params": {"sessionId": params.get("sessionId")}})
                return {"outcome": "cancelled"}
            allowed = answer.get("behavior") == "allow"
        say("permission", title=str(call.get("title") or kind), allowed=allowed)
        options = params.get("options")
        for choice in ("allow_once", "allow_always") if allowed else ("reject_once", "reject_always"):
            for option in options if isinstance(options, list) else ():
                if isinstance(option, dict) and option.get("kind") == choice:
                    return {"outcome": "selected", "optionId": option.get("optionId")}
        return {"outcome": "cancelled"}


def ask_person(approve: dict, kind: str, call: dict) -> dict:  # type: ignore[type-arg]  # JSON
    """What was decided about a call, which takes as long as people take; nothing is allowed if the question fails."""
    arguments = call.get("rawInput")
    arguments = dict(arguments) if isinstance(arguments, dict) else {}
    title = str(call.get("title") or kind)
    if kind == "execute":
        # Some agents give the command only as the title.
        command = arguments.get("command", title)
        arguments["command"] = shlex.join(map(str, command)) if isinstance(command, list) else str(command)
    else:
        locations = call.get("locations")
        for place in locations if isinstance(locations, list) else ():
            if isinstance(place, dict) and isinstance(place.get("path"), str):
                arguments.setdefault("file_path", place["path"])
        arguments |= {"title": title, "content": call.get("content")}
    call_of_tool = {"tool_name": kind, "input": arguments}
    body = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {"name": "approve", "arguments": call_of_tool},
    }
    url = urllib.parse.urlsplit(approve["url"])
    headers = {"Authorization": f"Bearer {approve['token']}", "Content-Type": "application/json"}
    try:
        connection = http.client.HTTPConnection(url.hostname or "", url.port)
        connection.request("POST", url.path, json.dumps(body).encode(), headers)
        result = json.loads(connection.getresponse().read())["result"]
        answer = json.loads(result["content"][0]["text"])
    except (OSError, http.client.HTTPException, ValueError, KeyError, IndexError, TypeError) as error:
        say("noise", text=f"asking for approval failed: {error}")
        return {}
    return answer if isinstance(answer, dict) else {}


def main() -> int:
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    task = json.load(sys.stdin)
    try:
        agent = Connection(task["argv"], task["allowed"], task["approve"])
    except OSError as error:
        say("error", stage="start", message=f"{task['argv'][0]}: {error.strerror}")
        return 127
    stage = "initialize"
    try:
        capabilities = {"fs": {"readTextFile": False, "writeTextFile": False}, "terminal": False}
        reply = agent.ask("initialize", protocolVersion=VERSION, clientCapabilities=capabilities)
        say("agent", version=reply.get("protocolVersion"), methods=reply.get("authMethods"))
        if task["authenticate"]:
            stage = "authenticate"
            agent.ask("authenticate", methodId=task["authenticate"])
        stage = "session/new"
        can = (reply.get("agentCapabilities") or {}).get("mcpCapabilities") or {}
        servers = task["servers"] if can.get("http") else []
        session = agent.ask("session/new", cwd=str(pathlib.Path.cwd()), mcpServers=servers).get("sessionId")
        stage = "session/prompt"
        prompt = [{"type": "text", "text": text} for text in task["prompt"]]
        end = agent.ask("session/prompt", sessionId=session, prompt=prompt)
    except Refused as error:
        say("error", stage=stage, error=error.args[0])
        agent.close()
        return 1
    except Gone:
        say("error", stage=stage, message="it ended before it answered", exit=agent.close())
        return 1
    say("end", session=session, reply=end)
    agent.close()
    return 0


def say(kind: str, **fields: object) -> None:
    sys.stdout.write(json.dumps({"type": kind, **fields}) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
