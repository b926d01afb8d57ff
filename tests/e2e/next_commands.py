"""Runs that end or wait, each in another way, for the table in docs/reference/next-commands.md."""

from __future__ import annotations

import signal
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tests.e2e.kit import Project

AGENTS = "agents: {w: {type: scripted, script: cast.yaml}, r: {type: scripted, script: cast.yaml}}\n"
PRICED = "agents: {w: {type: scripted, script: cast.yaml, estimate: {usd: 0.1}}}\n"
ONCE = "retry: {attempts: 1, on_exhausted: fail}"
ASKS = "retry: {attempts: 1, on_exhausted: human}"
WORK = "role: implementer, agent: w, prompt: Work."
LAND = "  land: {git: {land: main, message: Add it}}\n"
DONE = "- {match: {step: write}, text: Done., write: {a.txt: new}}\n"
GOOD = "- {match: {}, text: Done., write: {a.txt: new}}\n"
WRITE = f"{AGENTS}steps:\n  write: {{{WORK}}}\n"
FAILS = f"{AGENTS}steps:\n  write: {{{WORK}, {ONCE}%s}}\n"


def nothing(project: Project, run: str) -> None:
    """The run is as `podium run` left it."""


def unchanged(project: Project) -> None:
    """The commands need nothing else."""


@dataclass(frozen=True, slots=True)
class Case:
    steps: str
    """The workflow without its head."""
    code: int = 1
    cast: str = GOOD
    files: Mapping[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    then: Callable[[Project, str], None] = nothing
    """What happens to the run after `podium run`."""
    mend: Callable[[Project], None] = unchanged
    """What a person does before the commands: some of them need it."""
    codes: Mapping[str, int] = field(default_factory=dict)
    """The exit code of a command that has this word, if it is not 0."""
    value: str = "yes"
    """What is answered to a question."""


def recast(text: str = GOOD) -> Callable[[Project], None]:
    return lambda project: project.put({"cast.yaml": text})


def signalled(project: Project, run: str) -> None:
    project.podium("signal", run, "go")


def after_commit(files: Mapping[str, str]) -> Callable[[Project, str], None]:
    """A colleague moves the branch while the run waits; then it lands."""

    def then(project: Project, run: str) -> None:
        project.commit(files, "theirs")
        signalled(project, run)

    return then


def in_the_way(project: Project, run: str) -> None:
    project.put({"a.txt": "mine"})
    signalled(project, run)


def then_calls(*args: str) -> Callable[[Project, str], None]:
    def then(project: Project, run: str) -> None:
        project.podium(args[0], run, *args[1:])

    return then


def locked_landing(project: Project, run: str) -> None:
    project.put({".git/index.lock": ""})
    signalled(project, run)


def resumed(project: Project, run: str) -> None:
    project.podium("resume", run)


KILLED = -signal.SIGKILL
KILLED_FLOW = "steps:\n  a: {run: ['true']}\n  b: {run: [sh, slow.sh]}\n"
KILLED_ASKS = KILLED_FLOW.replace("slow.sh]", "slow.sh], recovery: ask")
GAP = "  gap: {wait: {signal: go}}\n"
LANDS = f"{AGENTS}steps:\n  write: {{{WORK}}}\n{GAP}{LAND}"
COMMAND_LANDS = (
    "steps:\n  write: {run: {script: 'echo new > a.txt', shell: bash}, touches: [a.txt]}\n" + GAP + LAND
)
ASKED = "steps:\n  ask: {human: 'Which?', %s}\n"
TWO = f"  a: {{{WORK}}}\n  b: {{{WORK}}}\n  c: {{{WORK}}}\n"
SPENDS = "".join(
    f"- {{match: {{step: {name}}}, text: Done., cost_usd: 0.9, usage: {{input: 900, output: 100}}, write: {{{name}.txt: x}}}}\n"
    for name in "abc"
)


def failing(more: str, cast: str, **options: object) -> Case:
    return Case(FAILS % more, cast=cast, mend=recast(), **options)  # type: ignore[arg-type]  # fields of Case


CASES: dict[str, Case] = {
    "nothing was changed": Case("steps:\n  a: {run: ['true']}\n", code=0),
    "files were changed": Case(WRITE, code=0),
    "it has landed": Case(f"{AGENTS}steps:\n  write: {{{WORK}}}\n{LAND}", code=0),
    "it worked in your files": Case(f"{AGENTS}steps:\n  write: {{{WORK}, workspace: inplace}}\n", code=0),
    "a command is red": Case(
        "steps:\n  a: {run: [sh, check.sh]}\n", files={"check.sh": "exit 1\n"}, codes={"resume": 1}
    ),
    "a gate is red": failing(
        ", gates: [{run: [grep, new, a.txt]}]", "- {match: {}, text: Done., write: {a.txt: old}}\n"
    ),
    "a program is missing": Case("steps:\n  a: {run: [no-such-program]}\n", codes={"resume": 1}),
    "a check is false": Case("steps:\n  a: {check: 1 > 3}\n", codes={"resume": 1}),
    "an expression cannot be evaluated": Case(
        "steps:\n  a: {run: [echo, '3'], output: lines}\n  b: {run: [echo, '${{ steps.a.output[5] }}']}\n",
        codes={"resume": 1},
    ),
    "a command takes too long": Case(
        "steps:\n  a: {run: [sh, -c, 'sleep 60'], timeout: 1s}\n", code=124, codes={"resume": 124}
    ),
    "an agent takes too long": failing(", timeout: 1s", "- {match: {}, error: timeout}\n", code=124),
    "an answer does not have its form": Case(
        FAILS % ", output: json",
        cast="- {match: {}, error: garbled}\n",
        mend=recast("- {match: {}, output: {a: 1}}\n"),
    ),
    "an agent changed nothing": failing(
        ", touches: [a.txt]",
        "- {match: {}, text: Done., write: {a.txt: old}}\n",
        files={"a.txt": "old"},
    ),
    "an agent touched other files": failing(
        ", touches: [a.txt]", "- {match: {}, text: Done., write: {b.txt: x}}\n"
    ),
    "protected files were changed, and --no-human forbids asking": failing(
        ", protect: [secret.txt]",
        "- {match: {}, text: Done., write: {secret.txt: x}}\n",
        files={"secret.txt": "old\n"},
        args=("--no-human",),
    ),
    "an agent is blocked": failing("", "- {match: {}, blocked: the schema is missing}\n"),
    "an agent is not logged in": failing("", "- {match: {}, error: auth}\n"),
    "an agent refuses": failing("", "- {match: {}, error: refused}\n"),
    "an agent ends with an exit code": failing("", "- {match: {}, exit: 3}\n"),
    "an agent crashes": failing("", "- {match: {}, error: crash}\n"),
    "a review rejects": Case(
        f"{AGENTS}steps:\n  write: {{{WORK}}}\n  judge: {{review: r, of: write}}\n",
        cast=f"{DONE}- {{match: {{step: r}}, verdict: reject}}\n",
        mend=recast(f"{DONE}- {{match: {{step: r}}, verdict: approve}}\n"),
    ),
    "some members failed": Case(
        AGENTS
        + f"steps:\n  each:\n    for_each: [x, y]\n    role: implementer\n    agent: w\n    prompt: Work on {{{{ item }}}}.\n    {ONCE}\n",
        cast="- {match: {iteration: 2}, exit: 1}\n- {match: {iteration: 1}, text: Done., write: {x.txt: x}}\n",
        mend=recast(
            "- {match: {iteration: 1}, text: Done., write: {x.txt: x}}\n- {match: {}, text: Done., write: {y.txt: y}}\n"
        ),
    ),
    "the branch moved, and the same lines clash": Case(
        LANDS, code=6, then=after_commit({"a.txt": "theirs"}), codes={"resume": 6}
    ),
    "the same, and no agent made the work": Case(
        COMMAND_LANDS, code=6, then=after_commit({"a.txt": "theirs"}), codes={"git": 1}
    ),
    "your files are in the way of a landing": Case(
        LANDS,
        code=6,
        then=in_the_way,
        mend=lambda project: (project.root / "a.txt").unlink(),
        codes={"resume": 6, "rerun": 6},
    ),
    "a person rejected it": Case(
        f"{AGENTS}steps:\n  write: {{{WORK}}}\n  ask: {{human: 'Ship it?'}}\n",
        code=6,
        then=then_calls("reject", "--feedback", "no"),
        codes={"resume": 6},
    ),
    "the limit on money is reached": Case(
        f"{PRICED}limits: {{usd: 1.8}}\nsteps:\n{TWO}", code=5, cast=SPENDS
    ),
    "the limit on tokens is reached": Case(
        f"{PRICED}limits: {{tokens: 1500}}\nsteps:\n  a: {{{WORK}}}\n", code=5, cast=SPENDS
    ),
    "the limit on calls is reached": Case(
        f"{AGENTS}limits: {{calls: 1}}\nsteps:\n  write: {{{WORK}, gates: [{{run: [grep, new, a.txt]}}]}}\n",
        code=5,
        cast="- {match: {}, text: Done., write: {a.txt: old}}\n",
        mend=recast(),
    ),
    "the limit on time is reached": Case(
        "limits: {time: 4s}\nsteps:\n  a: {run: [sleep, '2.5']}\n  b: {run: [sleep, '2.5']}\n", code=5
    ),
    "the limit on transitions is reached": Case(
        "limits: {transitions: 5}\nsteps:\n  a: {run: ['true']}\n  b: {run: ['false'], on: {failed: a}}\n",
        code=5,
        codes={"raise": 6},
    ),
    "the limit of a step is reached": Case(
        f"{PRICED}steps:\n  all:\n    limits: {{calls: 1}}\n    steps:\n      a: {{{WORK}}}\n      b: {{{WORK}}}\n",
        code=5,
        cast=SPENDS,
        mend=lambda project: project.put(
            {"w.yaml": (project.root / "w.yaml").read_text().replace("calls: 1", "calls: 4")}
        ),
    ),
    "a person cancelled it": Case(f"{AGENTS}steps:\n{GAP}", code=6, then=then_calls("cancel")),
    "it waits for an approval": Case(
        f"{AGENTS}steps:\n  write: {{{WORK}}}\n  ask: {{human: 'Ship it?'}}\n",
        code=6,
        codes={"reject": 4},
    ),
    "it waits for an answer": Case(ASKED % "output: text", code=6),
    "it waits for a choice": Case(ASKED % "output: {choice: [red, blue]}", code=6, value="blue"),
    "it waits for a signal": Case(f"steps:\n{GAP}", code=6),
    "it waits for work by hand": Case("steps:\n  fix: {agent: human, prompt: Fix it.}\n", code=6),
    "attempts are exhausted, and a person decides": Case(
        f"{AGENTS}steps:\n  write: {{{WORK}, {ASKS}, gates: [{{run: [grep, new, a.txt]}}]}}\n",
        code=6,
        cast="- {match: {}, text: Done., write: {a.txt: old}}\n",
        mend=recast(),
        codes={"accept": 1, "fail": 1},
    ),
    "protected files were changed": Case(
        FAILS % ", protect: [secret.txt]",
        code=6,
        cast="- {match: {}, text: Done., write: {secret.txt: x}}\n",
        files={"secret.txt": "old\n"},
        codes={"reject": 1},
    ),
    "a person paused it": Case(
        f"steps:\n{GAP}  b: {{run: ['true']}}\n", code=6, then=then_calls("pause"), codes={"resume": 6}
    ),
    "the work is red on the branch that moved": Case(
        LANDS.replace("prompt: Work.", "prompt: Work., gates: [{run: [sh, check.sh]}]"),
        code=6,
        files={"check.sh": "! test -e red.txt\n"},
        then=after_commit({"red.txt": ""}),
        codes={"resume": 6},
    ),
    "the index of git is locked during the landing": Case(
        LANDS,
        code=6,
        then=locked_landing,
        mend=lambda project: (project.root / ".git/index.lock").unlink(),
        codes={"resume": 6},
    ),
    "a step is entered too often": Case(
        f"{AGENTS}breaker: {{visits: 2}}\nsteps:\n  write: {{{WORK}}}\n  check: {{run: ['false'], on: {{failed: write}}}}\n",
        code=6,
        codes={"proceed": 6, "halt": 4, "dump_context": 4, "force_complete": 6, "retry_different": 6},
    ),
    "an agent reports no price": Case(
        "agents: {w: {type: command, command: [sh, work.sh]}}\nlimits: {usd: 3, unknown_cost: ask}\n"
        f"steps:\n  write: {{{WORK}}}\n",
        code=6,
        files={"work.sh": "echo new > a.txt; echo done\n"},
        codes={"halt": 4},
    ),
    "its process was killed during a step that asks first": Case(
        KILLED_ASKS, code=KILLED, then=resumed, codes={"fail": 1}
    ),
    "its process was killed": Case(KILLED_FLOW, code=KILLED),
}
