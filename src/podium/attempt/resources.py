"""Says which limit of the sandbox a process met: the one for which it was ended, or the one that its output points to."""

from __future__ import annotations

import signal
from dataclasses import replace
from typing import Final

from podium.ports.agent import AgentResult
from podium.ports.sandbox import SandboxPolicy
from podium.process.bounds import size_text
from podium.process.launch import Finished

TAIL: Final = 8_000
"""Characters at the end of the output that are searched."""
NO_SPACE: Final = ("No space left on device", "ENOSPC")
TOO_LARGE: Final = ("File too large", "EFBIG", "File size limit exceeded")
NO_PROCESS: Final = ("Resource temporarily unavailable", "can't start new thread", "Cannot fork", "EAGAIN")
_VITE: Final = "node_modules/.vite-temp"
_NOT_WRITTEN: Final = ("ENOENT", "EROFS", "EACCES")
_VITE_HINT: Final = (
    "node_modules is read-only in the sandbox, and vite writes its configuration there before it loads it: create the "
    "folder node_modules/.vite-temp in your project, which gets a writable one in its place, or add --configLoader=runner"
)


def resource_hint(finished: Finished, policy: SandboxPolicy) -> str:
    """The limit that a failed process may have met, by the words of the system in its output; empty if none."""
    if not finished.exit_code or finished.not_started is not None or finished.exceeded:
        return ""
    output = finished.stdout.tail(TAIL) + finished.stderr.tail(TAIL)
    if policy.disk is not None and (finished.signal == signal.SIGXFSZ or _has(output, TOO_LARGE)):
        return f"a file may have at most {size_text(policy.disk.bytes)} (sandbox.disk)"
    if policy.scratch_bytes is not None and _has(output, NO_SPACE):
        each = size_text(policy.scratch_bytes)
        return f"in a sandbox, /tmp and /dev/shm are in memory and hold {each} (sandbox.scratch; $TMPDIR is on disk)"
    if policy.processes is not None and _has(output, NO_PROCESS):
        return f"it may have at most {policy.processes} processes and threads (sandbox.processes)"
    if _VITE in output and _has(output, _NOT_WRITTEN):
        return _VITE_HINT
    return ""


def explain_resources(result: AgentResult, finished: Finished, policy: SandboxPolicy) -> AgentResult:
    """The result of an agent that was ended for what it used, or that failed at a limit."""
    if finished.exceeded:
        return replace(
            result, trouble="resources", detail=f"the agent {finished.exceeded} and was ended", retry_at=None
        )
    hint = resource_hint(finished, policy) if result.trouble is not None else ""
    return replace(result, detail=f"{result.detail}\n{hint}".strip()) if hint else result


def _has(output: str, words: tuple[str, ...]) -> bool:
    return any(word in output for word in words)
