"""Resource limits of the kernel and nothing more: against accidents, not against malice."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from podium import process
from podium.ports import Walls
from podium.process import Finished, Launch, Limits, OnOutput


class LimitsSandbox:
    level: ClassVar[Literal["limits"]] = "limits"
    in_force: ClassVar[tuple[str, ...]] = ("memory", "core dumps")
    """What this level enforces of the walls, for the record. Files, network and cores stay open."""
    owner: ClassVar[None] = None

    async def run(self, launch: Launch, walls: Walls, *, on_output: OnOutput | None = None) -> Finished:
        base = launch.limits or Limits()
        limits = replace(base, memory_bytes=_least(base.memory_bytes, walls.memory_bytes))
        return await process.run(replace(launch, limits=limits), on_output=on_output)


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)
