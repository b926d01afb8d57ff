"""What an agent's program knows when a person uses it, and which lines of its conversation are new."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from podium.adapters.agents.shared.json_lines import JsonLines
from podium.ports.agent import AgentRequest

TASK: Final = """\
A person has taken over this step and works with you at a terminal. Do what the person asks. For context, this is the task
of the step, and its result is judged by the same checks:

{prompt}
"""


def task_context(request: AgentRequest) -> str:
    """The role's text, and the task as context, which is not sent by itself."""
    return "\n\n".join(filter(None, (request.system, TASK.format(prompt=request.prompt))))


def new_records(files: Mapping[str, bytes], request: AgentRequest) -> Iterator[Any]:
    """The JSON lines of a conversation that were not in the one that the person continued."""
    before = {} if request.session is None else request.session.files
    earlier = Counter(line for content in before.values() for line in content.splitlines())
    for content in files.values():
        for line in content.splitlines():
            if earlier[line]:
                earlier[line] -= 1
            else:
                yield from JsonLines().feed(line + b"\n")
