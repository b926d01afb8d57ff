"""Small workflows, one for each shape of a run, with what people say to them; the crash points are theirs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from podium.core.messages import Cancel
from podium.files.project_paths import ProjectPaths
from podium.runtime.commands import encode_command
from podium.wiring import open_store
from tests.crash.story import FILES, WORKFLOW_FILE

FILE: Final = WORKFLOW_FILE


@dataclass(frozen=True)
class Story:
    steps: str
    cast: str = "[]"
    code: int = 0
    """How the undisturbed run ends."""
    landed: int = 0
    answers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """The command that answers the question at a path."""
    cancelled_at: str | None = None
    """The point at which another process would have asked to cancel."""
    files: Mapping[str, str] = field(default_factory=dict)
    sandbox: str = "limits"
    branches: tuple[str, ...] = ()
    """Further branches at the first commit, on which the work lands too."""
    runs: int = 1
    """How many runs the series has."""

    def all_files(self) -> dict[str, str]:
        head = "podium: 1\nname: story\nagents:\n  hand: {type: scripted, script: workflows/cast.yaml}\n"
        settings = {".podium/config.yaml": f"sandbox: {self.sandbox}\n"} if self.steps else {}
        return {FILE: head + self.steps, "workflows/cast.yaml": self.cast, **settings, **self.files}


LINEAR: Final = Story(
    """\
steps:
  write:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
  look:
    run: [cat, code.txt]
    output: {file: look.txt}
  note:
    run: {script: "echo noted > notes.txt"}
    touches: [notes.txt]
""",
    '- match: {step: write}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.25\n',
)
LOOP: Final = Story(
    """\
steps:
  rounds:
    repeat: {until: "steps.turn.output == '2'", max: 4}
    steps:
      turn:
        run: {script: "echo turn >> turns; wc -l < turns"}
        touches: [turns]
  told:
    agent: hand
    prompt: Tell it.
    touches: []
    no_change: pass
""",
    "- match: {step: told}\n  text: Two turns.\n  cost_usd: 0.5\n",
)
FAN_OUT: Final = Story(
    """\
steps:
  sides:
    parallel: 3
    steps:
      left:
        agent: hand
        prompt: The left side.
        touches: ["left/**"]
      right:
        agent: hand
        prompt: The right side.
        touches: ["right/**"]
      middle:
        run: {script: "mkdir -p middle; echo middle > middle/file"}
        touches: ["middle/**"]
  whole:
    run: [cat, left/file, right/file, middle/file]
    output: {file: whole.txt}
""",
    '- match: {step: left}\n  write: {left/file: "left\\n"}\n  cost_usd: 0.1\n'
    '- match: {step: right}\n  write: {right/file: "right\\n"}\n  cost_usd: 0.2\n',
)
GATE_FAILURE: Final = Story(
    """\
steps:
  implement:
    agent: hand
    prompt: "Write it. {{ feedback }}"
    touches: [code.txt]
    gates:
      - {name: good, run: [grep, -q, good, code.txt]}
  look:
    run: [cat, code.txt]
""",
    '- match: {step: implement, attempt: 1}\n  write: {code.txt: "bad\\n"}\n  cost_usd: 0.1\n'
    '- match: {step: implement}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.2\n',
)
REVIEW_REJECTION: Final = Story(
    """\
steps:
  implement:
    agent: hand
    prompt: "Write it. {{ feedback }}"
    touches: [code.txt]
  review:
    review: hand
    of: implement
    on: {rejected: implement}
  look:
    run: [cat, code.txt]
""",
    '- match: {step: implement, visit: 1}\n  write: {code.txt: "bad\\n"}\n  cost_usd: 0.1\n'
    '- match: {step: implement}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.2\n'
    "- match: {step: review, visit: 1}\n  verdict: {decision: reject, score: 4, findings: "
    "[{severity: major, issue: it is bad}]}\n  cost_usd: 0.3\n"
    "- match: {step: review}\n  verdict: approve\n  cost_usd: 0.4\n",
)
APPROVAL: Final = Story(
    """\
steps:
  write:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
  ask:
    human: Go on?
    on: {rejected: write}
  look:
    run: [cat, code.txt]
    output: {file: look.txt}
""",
    '- match: {step: write, visit: 1}\n  write: {code.txt: "bad\\n"}\n  cost_usd: 0.25\n'
    '- match: {step: write}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.5\n',
    answers={"ask": ("reject", "--feedback", "it is bad"), "ask~2": ("approve",)},
)
CANCEL: Final = Story(
    """\
steps:
  write:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
  slow:
    run: [sleep, "600"]
  never:
    run: [cat, code.txt]
finally:
  tidy:
    run: {script: "echo tidy"}
    output: {file: tidy.txt}
""",
    '- match: {step: write}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.25\n',
    code=130,
    cancelled_at="after start sleep",
)
SUB_WORKFLOW: Final = Story(
    """\
steps:
  child:
    workflow: child.yaml
    with: {word: good}
  look:
    run: [cat, code.txt, "${{ steps.child.output.place }}"]
""",
    '- match: {step: write}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.25\n',
    files={
        "workflows/child.yaml": """\
podium: 1
name: child
inputs: {word: string}
outputs: {place: "${{ steps.check.output }}"}
agents:
  hand: {type: scripted, script: workflows/cast.yaml}
steps:
  write:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
  check:
    run: [echo, code.txt]
"""
    },
)
FOR_EACH: Final = Story(
    """\
steps:
  each:
    for_each: [one, two]
    parallel: 2
    steps:
      make:
        agent: hand
        prompt: "Make {{ item }}."
        touches: ["${{ item }}.txt"]
  whole:
    run: [cat, one.txt, two.txt]
    output: {file: whole.txt}
""",
    '- match: {step: make, prompt: "Make one"}\n  write: {one.txt: "one\\n"}\n  cost_usd: 0.1\n'
    '- match: {step: make, prompt: "Make two"}\n  write: {two.txt: "two\\n"}\n  cost_usd: 0.2\n',
)
LANDING: Final = Story(
    """\
steps:
  write:
    agent: hand
    prompt: Write it.
    touches: [code.txt]
    gates:
      - {name: good, run: [grep, -q, good, code.txt]}
  land:
    git: {land: "${{ run.branch }}", message: It is made}
  look:
    run: [cat, code.txt]
""",
    '- match: {step: write}\n  write: {code.txt: "good\\n"}\n  cost_usd: 0.25\n',
    landed=1,
)
MEMORY: Final = Story(
    """\
steps:
  learn:
    run: {script: "echo one >> $PODIUM_MEMORY/lessons.md"}
    memory: lessons
  both:
    parallel: 2
    steps:
      left: {run: {script: "echo left > $PODIUM_MEMORY/left.md"}, memory: lessons}
      right: {run: {script: "echo right > $PODIUM_MEMORY/right.md"}, memory: lessons}
  more:
    run: {script: "echo two >> $PODIUM_MEMORY/lessons.md"}
    memory: lessons
""",
)
SEVERAL_BRANCHES: Final = Story(
    LANDING.steps.replace('land: "${{ run.branch }}"', "land: [main, release, next]"),
    LANDING.cast,
    landed=1,
    branches=("release", "next"),
)
SERIES: Final = Story(
    """\
steps:
  write:
    agent: hand
    prompt: "Write part {{ run.number }}."
    touches: ["*.txt"]
  land:
    git: {land: "${{ run.branch }}", message: "Part ${{ run.number }}"}
  more:
    continue_as: new
    when: run.number < 3
    max: 5
  told:
    run: [cat, one.txt, two.txt, three.txt]
    output: {file: told.txt}
""",
    '- match: {step: write, prompt: "part 1"}\n  write: {one.txt: "one\\n"}\n  cost_usd: 0.25\n'
    '- match: {step: write, prompt: "part 2"}\n  write: {two.txt: "two\\n"}\n  cost_usd: 0.25\n'
    '- match: {step: write, prompt: "part 3"}\n  write: {three.txt: "three\\n"}\n  cost_usd: 0.25\n',
    landed=3,
    runs=3,
)
SANDBOXED_LANDING: Final = Story(LANDING.steps, LANDING.cast, landed=1, sandbox="auto")

STORIES: Final = {
    "linear": LINEAR,
    "loop": LOOP,
    "fan_out": FAN_OUT,
    "gate_failure": GATE_FAILURE,
    "review_rejection": REVIEW_REJECTION,
    "approval": APPROVAL,
    "cancel": CANCEL,
    "sub_workflow": SUB_WORKFLOW,
    "for_each": FOR_EACH,
    "landing": LANDING,
    "landing_in_sandbox": SANDBOXED_LANDING,
    "memory": MEMORY,
    "series": SERIES,
    "several_branches": SEVERAL_BRANCHES,
}

# Takes several times as long as the others: for kills at random moments.
EVERYTHING: Final = {"everything": Story("", landed=1, files=FILES)}
# For kills at random moments too: who asks whom, and what came of it, is in their own test.
TEAM: Final = {
    "team": Story(
        """\
roles: {engineer: {agent: hand}, qa: {agent: hand}, architect: {agent: hand}}
steps:
  deliver:
    role: engineer
    prompt: Write it.
    touches: [code.txt]
    team:
      qa: {role: qa, asks: [architect], touches: [test.txt], when_done: true}
      architect: {role: architect}
    gates: [{run: [grep, -q, good, code.txt]}]
  land: {git: {land: main, message: All of it}}
""",
        """\
- match: {step: deliver, attempt: 1}
  write: {code.txt: "bad\\n"}
  ask:
    - {to: qa, question: "How is it tested?"}
    - {to: nobody, question: "Hello?"}
    - {to: qa, question: "And how else?"}
  note: [{text: "mind the gap"}, {text: "be quick", to: architect}]
  so_far: half of it
- match: {step: deliver/qa, attempt: 1, prompt: "What is good|mind the gap.*good is a word"}
  write: {test.txt: "look for good\\n"}
- match: {step: deliver/qa, prompt: "good is a word"}
  write: {test.txt: "look for good\\n"}
- match: {step: deliver/qa, prompt: "How is it tested"}
  ask: [{to: architect, question: "What is good?"}]
- match: {step: deliver/qa/architect}
  text: good is a word
- match: {step: deliver, attempt: 2}
  write: {code.txt: "good\\n"}
  ask: [{to: architect, question: "May I?"}, {to: qa, question: "How is it tested?"}]
- match: {step: deliver}
  write: {code.txt: "good\\n"}
""",
        landed=1,
    )
}
ALL: Final = {**STORIES, **TEAM, **EVERYTHING}


def orders_of(name: str, folder: Path) -> dict[str, Callable[[], None]]:
    """What happens at a point besides: another process asks to cancel the run."""
    point = ALL[name].cancelled_at if name else None
    return {} if point is None else {point: lambda: _cancel(folder / "project")}


def _cancel(root: Path) -> None:
    store = open_store(ProjectPaths(root))
    try:
        # By the same name each time: a command that was queued before a crash is not queued again.
        store.post(store.heads()[0].run, "cancel", encode_command(Cancel("ann")))
    finally:
        store.close()
