"""Resource limits of the kernel and nothing more: against accidents, not against malice."""

from __future__ import annotations

from typing import ClassVar, Literal

from podium.adapters.sandboxes import bounds
from podium.ports.sandbox import Walls
from podium.process.launch import Finished, Launch
from podium.process.output import OnOutput
from podium.process.run import run as run_process


class LimitsSandbox:
    level: ClassVar[Literal["limits"]] = "limits"
    owner: ClassVar[None] = None

    @property
    def in_force(self) -> tuple[str, ...]:
        """Files and network stay open."""
        return bounds.in_force()

    async def run(self, launch: Launch, walls: Walls, *, on_output: OnOutput | None = None) -> Finished:
        with bounds.bounded(launch, walls) as bound:
            return await run_process(bound, on_output=on_output)
