"""An agent that speaks the Agent Client Protocol: it runs each `RUN:` line of its prompt, after it has asked for permission."""

import json
import subprocess
import sys


def send(message: dict[str, object]) -> None:
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read() -> dict[str, object]:
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    message: dict[str, object] = json.loads(line)
    return message


def permitted(number: int, command: str) -> str:
    """allow, reject or cancelled."""
    call = {"toolCallId": f"c{number}", "kind": "execute", "title": command, "rawInput": {"command": command}}
    options = [
        {"optionId": "allow", "name": "Allow", "kind": "allow_once"},
        {"optionId": "reject", "name": "Reject", "kind": "reject_once"},
    ]
    params = {"sessionId": "s", "toolCall": call, "options": options}
    send({"id": 1000 + number, "method": "session/request_permission", "params": params})
    while True:
        message = read()
        if message.get("id") == 1000 + number and "result" in message:
            outcome = message["result"]["outcome"]  # type: ignore[index]
            return str(outcome.get("optionId", "cancelled"))


def prompt(number: object, text: str) -> None:
    task = text.split("## ", maxsplit=1)[0]
    for index, line in enumerate(line for line in task.splitlines() if line.startswith("RUN: ")):
        command = line.removeprefix("RUN: ")
        answer = permitted(index, command)
        if answer == "cancelled":
            send({"id": number, "result": {"stopReason": "cancelled"}})
            return
        words = f"not allowed: {command}. "
        if answer == "allow":
            subprocess.run(["sh", "-c", command], check=False, stdout=subprocess.DEVNULL)
            words = f"did: {command}. "
        update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": words}}
        send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
    send({"id": number, "result": {"stopReason": "end_turn"}})


def main() -> None:
    while True:
        message = read()
        match message.get("method"):
            case "initialize":
                send({"id": message["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
            case "session/new":
                send({"id": message["id"], "result": {"sessionId": "s"}})
            case "session/prompt":
                parts = message["params"]["prompt"]  # type: ignore[index]
                prompt(message["id"], "\n".join(part["text"] for part in parts))
            case _:
                pass


if __name__ == "__main__":
    main()
