"""The blocks of the gates format."""

from __future__ import annotations

from tests.workflow.dialects.expected.kinds import Blocks, Expectation, Key, Runs

SCHEMA: Key = ("S2", "Schema", 1)
EXAMPLE: Key = ("S2", "Annotated Example", 1)

FILLED = (
    ("<unique-id>", "demo"),
    ("<human-readable name>", "Demo"),
    ("<brief description>", "A demonstration"),
    ("docs/plans/<plan>.md", "README.md"),
    ("id: <step-id>", "id: X-1"),
    ("<label>", "make"),
    ("<role> ", "implementor "),
    ("<method>", "headless"),
    ("worktree: <path>", "worktree: app"),
    ("- <path>", "- README.md"),
    ("- <file or artifact>", "- README.md"),
    ("- <file or artifact>", "- made.txt"),
    ("<command or description>", "test -s made.txt exits 0"),
    ("<sentinel_file | git_commit | pr_creation | stdout_exit>", "stdout_exit"),
    ("<filename, commit prefix, etc.>", "none"),
    ("gate: <gate-id>", "gate: XG-1"),
    ("id: <gate-id>", "id: XG-1"),
    ("<label>", "look"),
    ("<auto | notify | human>", "auto"),
    ("<role> ", "reviewer "),
    ("next_step: <step-id>", "next_step: DONE"),
    ("next_step: <step-id>", "next_step: X-1"),
    ("<integer>", "2"),
)


def _schema(blocks: Blocks) -> str:
    text = blocks[SCHEMA]
    for hole, word in FILLED:
        text = text.replace(hole, word, 1)
    return text


EXPECTATIONS: tuple[Expectation, ...] = (
    Runs(
        key=SCHEMA,
        text=_schema,
        files={"CLAUDE.md": "Be brief.\n", "app/a": ""},
        cast="- {match: {step: make}, write: {app/made.txt: made}}\n",
        steps=("make", "done"),
    ),
    Runs(
        key=EXAMPLE,
        text=lambda blocks: blocks[EXAMPLE],
        files={
            "phase-4/CLAUDE.md": "Be brief.\n",
            "docs/plans/phase-4-plan.md": "An index.\n",
            "pixi": "#!/bin/sh\ngrep -q fast src/chatcat/index.py\n",
        },
        cast="""
- match: {step: write_tests, attempt: 1}
  write: {phase-4/test/test_index.py: "assert True\\n", .workflow/signals/X-1-done.json: "{}"}
- match: {step: write_tests/review_tests/reviewer, attempt: 1}
  verdict: {decision: reject, score: 3, findings: [{severity: major, issue: It asserts nothing.}]}
- match: {step: write_tests, prompt: asserts nothing}
  write: {phase-4/test/test_index.py: "import index\\n", .workflow/signals/X-1-done.json: "{}"}
- match: {step: implement, attempt: 1}
  write: {phase-4/src/chatcat/index.py: slow, phase-4/src/chatcat/search.py: x, .workflow/signals/X-2-done.json: "{}"}
- match: {step: implement, prompt: exit code 1}
  write: {phase-4/src/chatcat/index.py: fast, phase-4/src/chatcat/search.py: x, .workflow/signals/X-2-done.json: "{}"}
""",
        answers=("approve",),
        steps=("write_tests", "implement", "done"),
    ),
)
