"""What a sandbox costs: a launch in it beside a bare `bwrap true` with the same namespaces, in one run on one machine.

Figures are processor time, ours and that of all children. Launches of each kind take turns, and the best of each
counts, so that a busy moment does not decide the ratio.
"""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

import anyio

from bench.engine import Cost
from podium.adapters.sandboxes import bubblewrap_probe
from podium.adapters.sandboxes.bubblewrap import BubblewrapSandbox
from podium.adapters.sandboxes.bubblewrap_argv import BWRAP, NOBODY, SETPRIV
from podium.git.workdir.folder import give_ownership
from podium.ports.sandbox import SandboxPolicy, Service
from podium.process.environment import minimal_env
from podium.process.launch import Launch
from podium.process.run import run

ROUNDS: Final = 25
SERVICE: Final = Service(upstream="http://127.0.0.1:9", paths=("GET /",), headers={})


def costs() -> tuple[Cost, ...]:
    """Empty where bubblewrap does not hold."""
    if bubblewrap_probe.probe() is not None:
        return ()
    with tempfile.TemporaryDirectory() as folder:
        give_ownership(Path(folder), BubblewrapSandbox().owner)
        bare, alone, brokered = anyio.run(_measured, Path(folder))
    return (
        Cost("a sandboxed launch beside a bare bwrap", alone / bare, "x", 3.0, detail=_ms(alone, bare)),
        Cost("one with a broker beside a bare bwrap", brokered / bare, "x", 8.0, detail=_ms(brokered, bare)),
    )


async def _measured(folder: Path) -> tuple[float, float, float]:
    sandbox, policy = BubblewrapSandbox(), SandboxPolicy(writable=(folder,))
    launch = Launch(argv=("true",), cwd=folder, env=minimal_env(), marker="podium-bench")
    kinds: tuple[Callable[[], Awaitable[object]], ...] = (
        lambda: run(replace(launch, argv=_bare(), cwd=Path("/"))),
        lambda: sandbox.run(launch, policy),
        lambda: sandbox.run(launch, replace(policy, service=SERVICE)),
    )
    best = [float("inf")] * len(kinds)
    for _ in range(ROUNDS):
        for place, kind in enumerate(kinds):
            began = spent()
            await kind()
            best[place] = min(best[place], spent() - began)
    return best[0], best[1], best[2]


def spent() -> float:
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in used)


def _bare() -> tuple[str, ...]:
    drop = (str(SETPRIV), f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "--")
    bwrap = (str(BWRAP), "--unshare-all", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc", "true")
    return (*(() if os.geteuid() else drop), *bwrap)


def _ms(one: float, other: float) -> str:
    return f"{one * 1e3:.1f} ms, {other * 1e3:.1f} ms"
