"""The blocks of the steps format."""

from __future__ import annotations

from textwrap import indent

from tests.workflow.dialects.expected.kinds import Blocks, Contradicts, Expectation, Key, Runs

SUBSTITUTION: Key = ("S1", "Variable Substitution", 1)
PREDICATES: Key = ("S1", "Condition Model", 1)
COMBINED: Key = ("S1", "Condition Model", 2)
TRANSITIONS: Key = ("S1", "Control Flow", 1)
LOOP: Key = ("S1", "For-Each Loops (MVP: Sequential Only)", 1)
PATHS: Key = ("S1", "Resolution Rules", 1)
RETRY: Key = ("S1", "Error Recovery", 1)
SECRETS: Key = ("S1", "Secret Management", 1)
FILE: Key = ("S1", "Workflow Definition (MVP)", 1)
STEP: Key = ("S1", "Step Definition (MVP)", 1)
DEMO: Key = ("S1", "MVP Example Workflow", 1)

HEAD = 'version: "1.0"\nname: part\n'
WORK = {"workspace/src/a": ""}


def as_step(text: str, *, name: str = "Part", more: str = "") -> str:
    return f"  - name: {name}\n{indent(text, '    ')}{more}"


def before(*names: str) -> str:
    return "".join(f"  - {{name: {name}, command: [true]}}\n" for name in names)


def _scripts(name: str) -> str:
    return f"import sys\nprint('{name}', *sys.argv[1:])\n"


def _predicates(blocks: Blocks) -> str:
    part = as_step("command: [true]\nwhen:\n" + indent(blocks[PREDICATES], "  "))
    return f"{HEAD}context: {{branch: main}}\nsteps:\n{before('build')}" + part


def _file(blocks: Blocks) -> str:
    return blocks[FILE].replace(
        "steps: []", "steps: [{name: One, command: [true], on: {success: {end: true}, failure: {error: no}}}]"
    )


def _step(blocks: Blocks) -> str:
    """The last of the four kinds that the block lists as alternatives."""
    text = blocks[STEP]
    start, end = text.index('command: ["cmd"'), text.index("set_context:")
    text = text[:start] + text[end : text.index("# Input/Output")] + text[text.index("# Control Flow") :]
    text = text[: text.index("# Limits")]
    rest = "  - {name: NextStep, command: [echo, '${context.another_key}'], output_file: out.txt}\n"
    prev = "  - {name: PrevStep, command: [true]}\n  - {name: prev, command: [echo, hi]}\n"
    return f"{HEAD}steps:\n{prev}  -\n{indent(text, '    ')}{rest}"


EXPECTATIONS: tuple[Expectation, ...] = (
    Runs(
        key=SUBSTITUTION,
        text=lambda blocks: f"{HEAD}context: {{user: Ada}}\nsteps:\n" + as_step(blocks[SUBSTITUTION]),
        files=WORK,
        steps=("part",),
    ),
    Runs(key=PREDICATES, text=_predicates, files=WORK, steps=("build", "part:skipped")),
    Runs(
        key=COMBINED,
        text=lambda blocks: (
            f"{HEAD}steps:\n{before('test1', 'test2')}"
            "  - {name: build, command: [sh, -c, 'mkdir -p artifacts/Build; touch artifacts/Build/app.js']}\n"
            + as_step("command: [true]\n" + blocks[COMBINED])
        ),
        files=WORK,
        steps=("test1", "test2", "build", "part"),
    ),
    Runs(
        key=TRANSITIONS,
        text=lambda blocks: (
            f"{HEAD}strict_flow: true\nsteps:\n"
            + as_step("command: [sleep, '9']\ntimeout: 1\n" + blocks[TRANSITIONS])
            + as_step("command: [true]\n" + blocks[TRANSITIONS].replace("NextStep", "_end"), name="NextStep")
        ),
        files=WORK,
        steps=("part:timeout",),
    ),
    Runs(
        key=LOOP,
        text=lambda blocks: f"{HEAD}steps:\n" + as_step(blocks[LOOP].replace('"process"', '"test", "-n"')),
        files=WORK,
        steps=("part",),
    ),
    Contradicts(
        key=PATHS,
        decision="C32",
        message='duplicate key "input_file"',
        text=lambda text: f"{HEAD}steps:\n" + as_step("command: [cat]\n" + text),
    ),
    Runs(
        key=RETRY,
        text=lambda blocks: f"{HEAD}steps:\n" + as_step("command: [true]\n" + blocks[RETRY]),
        files=WORK,
        steps=("part",),
    ),
    Runs(
        key=SECRETS,
        text=lambda blocks: blocks[SECRETS],
        files={
            "workspace/.keep": "",
            "deploy.sh": '#!/bin/sh\ntest -n "$GITHUB_TOKEN" && test -z "$API_KEY"\n',
        },
        env={"GITHUB_TOKEN": "a-token-for-tests", "API_KEY": "a-key-for-tests"},
        steps=("deploy",),
    ),
    Runs(
        key=FILE,
        text=_file,
        files=WORK,
        env={"GITHUB_TOKEN": "a-token-for-tests", "API_KEY": "a-key-for-tests"},
        steps=("one",),
    ),
    Runs(
        key=STEP,
        text=_step,
        files=WORK,
        steps=("prev_step", "prev", "step_name", "next_step"),
        artifacts=("next_step/out.txt",),
    ),
    Runs(
        key=DEMO,
        text=lambda blocks: blocks[DEMO],
        files={
            "workspace/scripts/prep.py": _scripts("prep"),
            "workspace/scripts/report.py": _scripts("report"),
            "workspace/prompts/analyze.md": "Analyse it.\n",
        },
        env={"CLAUDE_API_KEY": "a-key-for-tests"},
        steps=("prep", "analyze", "report"),
        artifacts=("analyze/analysis.txt", "prep/prep.txt", "report/report.html"),
    ),
)
