"""Finds the GPUs of this machine and their memory by the driver of each vendor; nothing is installed."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from podium.process.environment import minimal_env
from podium.process.host_programs import host_path
from podium.process.launch import Launch
from podium.process.run import run

QUERY: Final = ("--query-gpu=name,memory.total", "--format=csv,noheader,nounits")
CARDS: Final = Path("/sys/class/drm")
TIMEOUT_S: Final = 10.0
MIB: Final = 1024
GIB: Final = 1 << 30


class Gpu(NamedTuple):
    name: str
    gb: float


async def find_gpus(env: Mapping[str, str], cards: Path = CARDS) -> tuple[Gpu, ...]:
    """All GPUs, the one with the most memory first; none for a driver that does not answer."""
    program = shutil.which("nvidia-smi", path=host_path(env))
    output = "" if program is None else await _query(program, env)
    gpus = (*_nvidia(output), *_amd(cards))
    return tuple(sorted(gpus, key=lambda gpu: -gpu.gb))


async def _query(program: str, env: Mapping[str, str]) -> str:
    with tempfile.TemporaryDirectory(prefix="podium-") as folder:
        launch = Launch(
            argv=(program, *QUERY),
            cwd=Path(folder),
            env=minimal_env({"HOME": folder, "PATH": host_path(env)}, host=env),
            marker="podium-agents-gpu",
            timeout_s=TIMEOUT_S,
            grace_s=1.0,
        )
        finished = await run(launch)
    return finished.stdout.text() if finished.exit_code == 0 else ""


def _nvidia(output: str) -> Iterator[Gpu]:
    for line in output.splitlines():
        name, _, size = line.rpartition(",")
        if size.strip().isdecimal():
            yield Gpu(name.strip(), round(int(size) / MIB, 1))


def _amd(cards: Path) -> Iterator[Gpu]:
    for path in sorted(cards.glob("card*/device/mem_info_vram_total")):
        size = path.read_text("ascii", "replace").strip()
        if size.isdecimal():
            yield Gpu(path.parts[-3], round(int(size) / GIB, 1))
