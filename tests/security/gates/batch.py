"""Several cheats in one run: each is a step of its own, judged by the same gate, so the project is made only once."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.e2e.kit import Ended, closing, new_project


@dataclass(frozen=True, slots=True)
class Judged:
    """How the step of one cheat ended."""

    outcome: str
    reason: str
    gate_reasons: tuple[str, ...]
    """Of its gates; empty if none ran, because the script itself failed."""
    message: str

    @property
    def is_caught(self) -> bool:
        return self.outcome == "failed" and (
            bool(self.gate_reasons) or self.reason in ("capture", "protected")
        )


def judged(
    folder: Path,
    files: Mapping[str, str],
    gate: Mapping[str, Any],
    scripts: Sequence[str],
    *,
    modules: Path | None = None,
    env: Mapping[str, str] | None = None,
) -> tuple[list[Judged], Ended]:
    """The end of each script, and of the run. `modules` becomes the project's node_modules."""
    steps = "\n".join(
        f"      case{at}: {{run: {{script: {json.dumps(script)}, shell: bash}}, touches: ['**'], gates: [{json.dumps(dict(gate))}]}}"
        for at, script in enumerate(scripts)
    )
    flow = (
        f"podium: 1\nname: cheats\nsteps:\n  all:\n    parallel: 2\n    join: discard\n    steps:\n{steps}\n"
    )
    with closing(new_project(folder, {**files, "flow.yaml": flow})) as project:
        if modules is not None:
            link_modules(project.root / "node_modules", modules)
        project.env.update(env or {})
        done = project.podium("run", "flow.yaml", "--json", "--no-human", timeout_s=600)
        return [_end(done, f"all/case{at}") for at in range(len(scripts))], done


def link_modules(target: Path, modules: Path) -> None:
    """A copy whose files are links in the file system where that works: a gate sees no link that leads out of the project."""
    for folder, _, names in os.walk(modules):
        place = target / Path(folder).relative_to(modules)
        place.mkdir()
        for name in names:
            source = Path(folder) / name
            if source.is_symlink():
                (place / name).symlink_to(source.readlink())
                continue
            try:
                os.link(source, place / name)
            except OSError:
                (place / name).write_bytes(source.read_bytes())
                (place / name).chmod(source.stat().st_mode)


def _end(done: Ended, path: str) -> Judged:
    steps = {step["path"]: step for step in done.data()["steps"]}
    step = steps.get(path)
    assert step is not None, f"{path}: {done.out}{done.err}"
    gates = [each for name, each in steps.items() if name.startswith(f"{path}#1/")]
    reasons = tuple(gate["reason"] or gate["outcome"] for gate in gates)
    return Judged(step["outcome"], step["reason"] or "", reasons, step["message"] or "")
