"""An agent that speaks the protocol well, or badly in the way that its argument says."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

MODE = sys.argv[1] if len(sys.argv) > 1 else "well"


def send(**message: Any) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def update(what: str, /, **fields: Any) -> None:
    send(method="session/update", params={"sessionId": "s1", "update": {"sessionUpdate": what, **fields}})


def say(text: str) -> None:
    update("agent_message_chunk", content={"type": "text", "text": text})


def permitted(kind: str | None) -> str:
    options = [
        {"optionId": name, "name": name, "kind": name}
        for name in ("reject_once", "allow_always", "allow_once")
    ]
    call = {"toolCallId": "t1", "title": f"{kind} something", **({"kind": kind} if kind else {})}
    send(
        id=77,
        method="session/request_permission",
        params={"sessionId": "s1", "toolCall": call, "options": options},
    )
    reply = json.loads(sys.stdin.readline())
    assert reply["id"] == 77
    return str(reply["result"]["outcome"].get("optionId"))


def answer(prompt: list[dict[str, str]]) -> dict[str, Any]:
    text = "".join(part["text"] for part in prompt)
    match MODE:
        case "hang":
            signal.pause()
        case "die":
            sys.stderr.write("out of memory\n")
            sys.stderr.flush()
            os._exit(9)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "noise":
            sys.stdout.write("DEBUG not of the protocol\n")
        case "asks":
            say("before")
            send(id=5, method="fs/write_text_file", params={"path": "/x", "content": "y"})
            assert json.loads(sys.stdin.readline())["error"]["code"] == -32601
            kinds = ("read", "edit", "execute", "fetch", None)
            update("tool_call", toolCallId="t1", title="Asking", kind="edit")
            found = {str(kind): permitted(kind) for kind in kinds}
            Path("asked.json").write_text(json.dumps(found))
            update(
                "tool_call_update",
                toolCallId="t1",
                kind="edit",
                status="completed",
                locations=[{"path": "asked.json"}],
            )
        case _:
            pass
    if MODE.isdecimal():
        return {
            "error": {"code": int(MODE), "message": f"status {MODE}", "data": {"details": "of the vendor"}}
        }
    assert "7391" in text or MODE != "well", text
    say('{"title": ')
    say('"blue"}')
    stop = (
        MODE if MODE in ("refusal", "max_tokens", "max_turn_requests", "cancelled", "sleepy") else "end_turn"
    )
    if MODE == "costs":
        update("usage_update", used=10, size=200, cost={"amount": 0.5, "currency": "USD"})
        update("usage_update", used=40, size=200, cost={"amount": 0.75, "currency": "USD"})
        counts = {
            "input_tokens": 30,
            "output_tokens": 5,
            "total_tokens": 42,
            "cache_creation_input_tokens": 3,
        }
        return {"result": {"stopReason": "end_turn", "_meta": {"usage": counts}}}
    usage = {"inputTokens": 10, "outputTokens": 2, "cachedReadTokens": 4}
    return {"result": {"stopReason": stop, **({} if MODE == "uncounted" else {"usage": usage})}}


def main() -> None:
    for line in sys.stdin:
        asked = json.loads(line)
        number, params = asked["id"], asked["params"]
        match asked["method"]:
            case "initialize":
                if MODE == "early":
                    sys.exit(3)
                send(id=number, result={"protocolVersion": 1, "authMethods": [{"id": "web", "name": "Web"}]})
            case "authenticate":
                assert params["methodId"] == "web"
                send(id=number, result={})
            case "session/new" if MODE == "auth":
                send(id=number, error={"code": -32000, "message": "Authentication required"})
            case "session/new":
                assert params == {"cwd": str(Path.cwd()), "mcpServers": []}
                send(id=number, result={"sessionId": "s1"})
            case "session/prompt":
                send(id=number, **answer(params["prompt"]))
            case method:
                raise AssertionError(method)


main()
