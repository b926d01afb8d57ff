"""`podium-step`, a script for use inside a step: it calls the tools of the step from a shell.

    podium-step ask qa "How will this be tested?" [FILE...]
    podium-step note "the lock is not reentrant" [--to qa]
    podium-step progress "half of the tests pass" [PERCENT]
    podium-step blocked "the API key is missing"
    podium-step artifact report.md
    podium-step step

It imports nothing from Podium, and exits with 0 if the call was recorded, 1 if it was refused, 2 if it was used wrongly
and 3 outside of a step.
"""

import json
import os
import sys
import urllib.request


def main() -> int:
    url, token = os.environ.get("PODIUM_TOOLS"), os.environ.get("PODIUM_TOOLS_TOKEN")
    if not url or not token:
        sys.stderr.write("podium-step: this is not inside a step that has tools\n")
        return 3
    call = arguments_of(sys.argv[1:])
    if call is None:
        sys.stderr.write((__doc__ or "").strip() + "\n")
        return 2
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    request = urllib.request.Request(  # noqa: S310 (the address comes from the host)
        url,
        json.dumps(body).encode(),
        {"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    # The proxy of the environment leads out of the sandbox; the tools are inside.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as response:
            result = json.load(response)["result"]
    except (OSError, ValueError, KeyError) as error:
        sys.stderr.write(f"podium-step: the tools cannot be reached: {error}\n")
        return 3
    text = "\n".join(part.get("text", "") for part in result["content"])
    (sys.stderr if result.get("isError") else sys.stdout).write(f"{text}\n")
    return 1 if result.get("isError") else 0


def arguments_of(words: list[str]) -> dict[str, object] | None:
    name, rest = (words[0], words[1:]) if words else ("", [])
    to = ""
    if "--to" in rest[:-1]:
        place = rest.index("--to")
        to, rest = rest[place + 1], [*rest[:place], *rest[place + 2 :]]
    arguments: dict[str, object]
    if name == "ask" and len(rest) >= 2:
        arguments = {"to": rest[0], "question": rest[1], "files": rest[2:]}
    elif name == "note" and len(rest) == 1:
        arguments = {"text": rest[0], **({"to": to} if to else {})}
    elif name == "progress" and len(rest) in (1, 2):
        percent = rest[1].rstrip("%") if len(rest) == 2 else ""
        arguments = {"text": rest[0], **({"percent": float(percent)} if percent.isdigit() else {})}
    elif name == "blocked" and len(rest) == 1:
        arguments = {"why": rest[0]}
    elif name == "artifact" and len(rest) == 1:
        arguments = {"path": rest[0]}
    elif name == "step" and not rest:
        arguments = {}
    else:
        return None
    return {"name": name, "arguments": arguments}


if __name__ == "__main__":
    sys.exit(main())
