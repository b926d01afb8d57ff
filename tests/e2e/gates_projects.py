"""Projects of the gates format with several loops, for `test_gates_files`: worktrees, feedback in folders, gates that lead far back."""

from __future__ import annotations

from tests.e2e.gates_files import GatesFile


def rejected(step: str, *visits: int) -> str:
    finding = "{severity: major, issue: Not yet.}"
    verdict = f"{{decision: reject, score: 3, summary: Not yet., findings: [{finding}]}}"
    return "".join(f"- {{match: {{step: {step}, visit: {visit}}}, verdict: {verdict}}}\n" for visit in visits)


def each_visit(step: str, *files: str) -> str:
    """Writes the files in each of nine visits, each time with another content."""
    lines = []
    for visit in range(1, 10):
        written = ", ".join(f'"{file}": "chapter {visit}"' for file in files)
        lines.append(
            f"- {{match: {{step: {step}, visit: {visit}}}, write: {{{written}}}, text: {step} {visit}}}\n"
        )
    return "".join(lines)


HANDBOOK = """\
workflow:
  id: docs-refresh
  name: "Refresh the handbook"
  description: >
    Outline, write, proofread and publish the handbook.
  context_files: [README.md]
steps:
  - id: DOC-1
    name: outline
    agent:
      type: planner
      launch: headless
      worktree: handbook/
      context: [README.md]
    outputs: [outline.md]
    success_criterion: "file outline.md exists and is non-empty"
    signal: {type: stdout_exit}
    gate: DOCG-1
  - id: DOC-2
    name: write-chapters
    agent: {type: implementor, launch: headless, worktree: handbook/}
    inputs: [outline.md, ".workflow/retry-context/DOCG-2-*.md"]
    outputs: [one.md, two.md]
    success_criterion: "`grep -q chapter one.md` exits 0 and file two.md exists"
    signal: {type: stdout_exit}
    gate: DOCG-2
  - id: DOC-3
    name: proofread
    agent: {type: implementor, launch: subagent, worktree: handbook/}
    inputs: [one.md, two.md]
    outputs: [notes.md]
    gate: DOCG-3
gates:
  - id: DOCG-1
    name: check-outline
    reviewer: {level: auto, agent_type: reviewer}
    on_pass: {next_step: DOC-2}
    on_fail: {next_step: DOC-1, retry_context_path: ".workflow/retry-context/DOCG-1-attempt-{n}.md"}
    max_retries: 3
  - id: DOCG-2
    name: check-chapters
    reviewer: {level: auto, agent_type: reviewer}
    on_pass: {next_step: DOC-3}
    on_fail: {next_step: DOC-1, retry_context_path: ".workflow/retry-context/chapters/DOCG-2-{n}.md"}
    max_retries: 6
  - id: DOCG-3
    name: sign-off
    reviewer: {level: human}
    on_pass: {next_step: DONE}
    on_fail: {next_step: DOC-2}
    max_retries: 2
"""
ABORT = """\
workflow: {id: abort-it, name: Abort it}
steps:
  - {id: S1, name: Draft It, agent: {type: implementor, launch: headless}, outputs: [draft.txt], gate: G1}
  - {id: S2, name: Ship It, agent: {type: implementor, launch: headless}, outputs: [ship.txt], gate: G2}
gates:
  - {id: G1, name: quick look, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: S2}, on_fail: {next_step: ABORTED}, max_retries: 1}
  - {id: G2, name: final look, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: DONE}, on_fail: {next_step: ABORTED}}
"""
TWO_GATES = """\
workflow: {id: W, name: W, description: "Two gates lead back to the same step, more often than a breaker would like."}
steps:
  - {id: W-1, name: code, agent: {type: implementor, launch: headless, worktree: src/}, outputs: [m.py], gate: WG-1}
  - {id: W-2, name: tests, agent: {type: test-writer, launch: headless, worktree: src/}, outputs: [t.py], gate: WG-2}
  - {id: W-3, name: docs, agent: {type: implementor, launch: headless}, outputs: [d.md], gate: WG-3}
gates:
  - {id: WG-1, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: W-2}, on_fail: {next_step: W-1}, max_retries: 2}
  - {id: WG-2, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: W-3}, on_fail: {next_step: W-1}, max_retries: 4}
  - {id: WG-3, reviewer: {level: notify, agent_type: reviewer}, on_pass: {next_step: DONE}, on_fail: {next_step: W-1}, max_retries: 4}
"""
SIGNALS = """\
workflow: {id: relay, name: "A relay of signals"}
steps:
  - id: R-1
    name: measure
    agent: {type: implementor, launch: headless, worktree: lab/}
    outputs: [raw.csv]
    signal: {type: sentinel_file, value: .workflow/signals/R-1-done.json}
    gate: RG-1
  - id: R-2
    name: plot
    agent: {type: implementor, launch: headless, worktree: lab/}
    inputs: [raw.csv]
    outputs: [plot.svg]
    success_criterion: "`test -s plot.svg` exits 0"
    gate: RG-2
gates:
  - {id: RG-1, name: plausible, reviewer: {level: notify, agent_type: reviewer}, on_pass: {next_step: R-2}, on_fail: {next_step: R-1}, max_retries: 3}
  - {id: RG-2, name: pretty, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: DONE}, on_fail: {next_step: R-1}, max_retries: 3}
"""
USED_UP = """\
workflow: {id: stubborn, name: Stubborn, description: "A gate that never passes leads back over two steps."}
steps:
  - {id: U-1, name: sketch, agent: {type: implementor, launch: headless}, outputs: [sketch.txt]}
  - {id: U-2, name: colour, agent: {type: implementor, launch: headless}, outputs: [colour.txt], gate: UG}
gates:
  - {id: UG, name: taste, reviewer: {level: auto, agent_type: reviewer}, on_pass: {next_step: DONE}, on_fail: {next_step: U-1}, max_retries: 4}
"""

PROJECTS: dict[str, GatesFile] = {
    "a handbook with feedback in a folder of its own": GatesFile(
        HANDBOOK,
        rejected("check_chapters/reviewer", 1, 2, 3)
        + each_visit("outline", "handbook/outline.md")
        + each_visit("write_chapters", "handbook/one.md", "handbook/two.md")
        + each_visit("proofread", "handbook/notes.md"),
        (
            *("outline", "write_chapters", "check_chapters:rejected") * 3,
            *("outline", "write_chapters", "check_chapters", "proofread", "sign_off:rejected"),
            *("write_chapters", "check_chapters", "proofread", "sign_off", "done"),
        ),
        answers=("reject", "approve"),
        lands=("handbook/one.md", "handbook/notes.md"),
    ),
    "a gate that ends the task": GatesFile(
        ABORT,
        rejected("final_look/reviewer", 1)
        + each_visit("draft_it", "draft.txt")
        + each_visit("ship_it", "ship.txt"),
        ("draft_it", "quick_look", "ship_it", "final_look:rejected"),
        code=1,
    ),
    "two gates that lead to one step five times": GatesFile(
        TWO_GATES,
        rejected("wg_2/reviewer", 1, 2, 4)
        + rejected("wg_3/reviewer", 1, 2)
        + each_visit("code", "src/m.py")
        + each_visit("tests", "src/t.py")
        + each_visit("docs", "d.md"),
        (
            *("code", "tests", "wg_2:rejected") * 2,
            *("code", "tests", "wg_2", "docs", "wg_3:rejected", "code", "tests", "wg_2:rejected"),
            *(
                "code",
                "tests",
                "wg_2",
                "docs",
                "wg_3:rejected",
                "code",
                "tests",
                "wg_2",
                "docs",
                "wg_3",
                "done",
            ),
        ),
        lands=("src/m.py", "src/t.py", "d.md"),
    ),
    "signals of agents between loops": GatesFile(
        SIGNALS,
        rejected("pretty/reviewer", 1, 2)
        + each_visit("measure", "lab/raw.csv", ".workflow/signals/R-1-done.json")
        + each_visit("plot", "lab/plot.svg"),
        (*("measure", "plot", "pretty:rejected") * 2, "measure", "plot", "pretty", "done"),
        lands=("lab/raw.csv", "lab/plot.svg"),
    ),
    "retries over two steps that are used up": GatesFile(
        USED_UP,
        rejected("taste/reviewer", *range(1, 10))
        + each_visit("sketch", "sketch.txt")
        + each_visit("colour", "colour.txt"),
        (*("sketch", "colour", "taste:rejected") * 3, "sketch", "colour", "taste", "done"),
        answers=("accept",),
        lands=("sketch.txt", "colour.txt"),
    ),
}
