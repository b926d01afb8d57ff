"""A stand-in for claude: without a terminal it does bad work, at a terminal it does what the person types.

It keeps its conversation in the same file as the real program, so that it can be continued.
"""

from __future__ import annotations

import json
import os
import re
import sys
from pathlib import Path
from typing import Any

SESSION = "11111111-2222-4333-8444-555555555555"
PROGRAM = f"#!{sys.executable}\n" + Path(__file__).read_text(encoding="utf-8")


def tell(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    resumed = [word.partition("=")[2] for word in sys.argv if word.startswith("--resume=")]
    session = (resumed or [SESSION])[0]
    folder = re.sub(r"[^A-Za-z0-9]", "-", str(Path.cwd()))
    file = Path(os.environ["CLAUDE_CONFIG_DIR"], "projects", folder, f"{session}.jsonl")
    earlier = file.read_text(encoding="utf-8").count("\n") if file.exists() else 0
    file.parent.mkdir(parents=True, exist_ok=True)

    def say(text: str, number: int) -> dict[str, Any]:
        message = {
            "id": f"msg_{number}",
            "model": "claude-sonnet-5",
            "content": [{"type": "text", "text": text}],
        }
        record: dict[str, Any] = {
            "type": "assistant",
            "sessionId": session,
            "session_id": session,
            "message": message,
        }
        with file.open("a", encoding="utf-8") as log:
            log.write(json.dumps(record) + "\n")
        return record

    if "-p" in sys.argv:
        sys.stdin.readline()
        Path("src/bad.py").write_text("bad = True\n", encoding="utf-8")
        usage = {"claude-sonnet-5": {"inputTokens": 10, "outputTokens": 5}}
        success = {"type": "result", "subtype": "success", "is_error": False, "result": "done badly"}
        for record in (
            {"type": "system", "subtype": "init", "session_id": session, "model": "claude-sonnet-5"},
            say("done badly", earlier),
            {**success, "total_cost_usd": 0.25, "modelUsage": usage},
        ):
            tell(json.dumps(record))
        return
    task = next(
        Path(word.partition("=")[2]) for word in sys.argv if word.startswith("--append-system-prompt-file=")
    )
    about = "knows the task" if "Paint the shed" in task.read_text(encoding="utf-8") else "knows nothing"
    files = sorted(path.name for path in Path("src").iterdir())
    tell(f"fake claude: {earlier} earlier messages, {about}, {files}")
    for number, line in enumerate(sys.stdin, start=earlier):
        match line.split():
            case ["exit"]:
                return
            case ["write", name]:
                Path(name).write_text("x = 1\n", encoding="utf-8")
                say(f"wrote {name}", number)
                tell(f"wrote {name}")
            case ["key"]:
                tell(f"key {os.environ['ANTHROPIC_API_KEY']}")
            case _:
                tell("?")


if __name__ == "__main__":
    main()
