"""Carries out one task in a process of its own, which gets nothing but JSON: the task and the context of its run."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from podium.attempt.perform import perform
from podium.core.codec import encode
from podium.tasks.run_context import RunContext
from podium.tasks.task_json import decode, decode_task
from podium.wiring import host_for_run


def main(project: Path) -> None:
    message = json.load(sys.stdin)
    context = decode(RunContext, message["context"])
    host = host_for_run(context, project)
    report = anyio.run(perform, decode_task(message["task"]), host)
    json.dump(None if report is None else encode(report), sys.stdout)  # type: ignore[arg-type]  # reports are events


if __name__ == "__main__":
    main(Path(sys.argv[1]))
