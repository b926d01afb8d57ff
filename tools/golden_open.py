"""Golden projects whose runs are not over: new code has to answer, signal or resume them, and they have to pass."""

from __future__ import annotations

from typing import Final

from tools.golden_driver import AGENTS, Case, OldProject, waiting_script, waiting_step

APPROVAL_FLOW: Final = (
    AGENTS
    + """\
name: approval
steps:
  draft: {agent: writer, prompt: Write a draft., touches: [draft.txt]}
  review: {review: judge, of: draft}
  approve: {human: "Is {{ steps.draft.text }} good?", show: [diff, verdicts, cost]}
  polish: {agent: writer, prompt: Polish it., touches: [draft.txt]}
  land: {git: {land: main, message: Add the draft}}
"""
)
QUESTION_FLOW: Final = (
    AGENTS
    + """\
name: question
people: {owners: [ann, bea]}
steps:
  choose:
    human: "Which database?"
    output: {choice: [sqlite, postgres]}
    by: [owners]
    remind: 3000d
    escalate: {after: 3000d, to: [carl]}
    timeout: 3650d
  tell: {run: [echo, "${{ steps.choose.output }}"]}
outputs: {choice: "${{ steps.choose.output }}"}
"""
)
SIGNAL_FLOW: Final = (
    AGENTS
    + """\
name: signal
steps:
  deployed: {wait: {signal: deployed}}
  confirmed: {wait: {signal: confirmed}}
  tell: {run: [echo, "${{ steps.confirmed.output }}"]}
"""
)
BY_HAND_FLOW: Final = (
    AGENTS
    + """\
name: by_hand
steps:
  sign:
    agent: human
    prompt: Sign the draft.
    touches: [signature.txt]
    gates: [{name: signed, run: grep -q ann signature.txt}]
"""
)
PARKED_CAST: Final = """\
- match: {step: draft}
  write: {draft.txt: "a draft\\n"}
  text: the draft
- match: {step: polish, prompt: Mention the date}
  write: {draft.txt: "a polished draft with a date\\n"}
"""


def play_parked(project: OldProject) -> None:
    project.podium("run", "question.yaml", exit_code=6)
    project.podium("answer", "postgres")
    for name in ("approval", "question", "signal", "by_hand"):
        project.podium("run", f"{name}.yaml", exit_code=6)
    project.podium("guide", project.newest_run("approval"), "Mention the date.")
    project.podium("signal", project.newest_run("signal"), "deployed", "--data", '{"host": "a"}', exit_code=6)


ADVICE_FLOW: Final = (
    AGENTS
    + """\
name: advice
breaker: {visits: 2}
steps:
  draft: {agent: writer, prompt: Write a draft., touches: [draft.txt]}
  review: {review: judge, of: draft, on: {rejected: draft}}
"""
)
EXHAUSTED_FLOW: Final = (
    AGENTS
    + """\
name: exhausted
steps:
  draft:
    agent: writer
    prompt: Write a draft.
    touches: [draft.txt]
    retry: {attempts: 1, on_exhausted: human}
    gates: [{name: long, run: grep -q long draft.txt}]
"""
)
PROTECTED_FLOW: Final = (
    AGENTS
    + """\
name: protected
steps:
  rules: {agent: writer, prompt: Write the rules., touches: [AGENTS.md]}
"""
)
VETO_FLOW: Final = (
    AGENTS
    + """\
name: veto
steps:
  draft: {agent: writer, prompt: Write a draft., touches: [draft.txt]}
  look: {human: "Is it good?", level: notify, on: {rejected: draft}}
  ask: {human: "Is it really good?"}
"""
)
QUESTIONS_CAST: Final = """\
- match: {step: judge}
  verdict: {decision: reject, score: 2, summary: It is not good.}
- match: {step: rules}
  write: {AGENTS.md: "Be brief.\\n"}
"""


def play_questions(project: OldProject) -> None:
    for name in ("advice", "exhausted", "protected", "veto"):
        project.podium("run", f"{name}.yaml", exit_code=6)
    project.podium("reject", project.newest_run("veto"), "look", "--feedback", "Once more.", exit_code=6)
    retry = ("--action", "retry", "--feedback", "Make it long.")
    project.podium("approve", project.newest_run("exhausted"), *retry, exit_code=6)


PAUSED_FLOW: Final = (
    AGENTS
    + f"""\
name: paused
steps:
  build:{waiting_step("build")}
  draft: {{agent: writer, prompt: Write a draft., touches: [draft.txt]}}
  pack:{waiting_step("pack")}
  land: {{git: {{land: main, message: Add the draft}}}}
"""
)


def play_paused(project: OldProject) -> None:
    for command, name in ((("run", "flow.yaml"), "build"), (("resume",), "pack")):
        child = project.start(*command)
        project.wait_for(name)
        if name == "build":
            project.podium("guide", "@1", "Be brief.")
        project.podium("pause", "@1")
        project.finish(name)
        child.wait()


KILLED_FLOW: Final = (
    AGENTS
    + f"""\
name: killed
steps:
  draft: {{agent: writer, prompt: Write a draft., touches: [draft.txt]}}
  note: {{workspace: inplace, run: {{script: "echo note >> diary.txt"}}}}
  build:{waiting_step("build")}
  polish: {{agent: writer, prompt: Polish it., touches: [draft.txt]}}
  land: {{git: {{land: main, message: Add the draft}}}}
"""
)
KILLED_CAST: Final = """\
- match: {step: polish, prompt: Mention the date}
  write: {draft.txt: "a draft with a date\\n"}
"""
DOUBTED_FLOW: Final = AGENTS + f"name: doubted\nsteps:\n  upload:\n    recovery: ask{waiting_step('upload')}"
RECOVERED_FLOW: Final = """\
podium: 1
name: recovered
sandbox: limits
agents:
  helper: {type: command, command: tools/helper, price: {input: 1, output: 2, date: "2026-01-01"}}
steps:
  think: {agent: helper, prompt: Think., workspace: inplace}
"""
HELPER: Final = f"""\
#!/bin/sh
{waiting_script("think", "")}echo 'It is thought over.'
"""


def play_killed(project: OldProject) -> None:
    project.kill_during("think", "run", "recovered.yaml")
    project.finish("think")
    project.podium("resume")
    project.kill_during("upload", "run", "doubted.yaml")
    project.podium("resume", exit_code=6)
    project.kill_during("build", "run", "killed.yaml", unread=("guide", "@1", "Mention the date."))


CASES: Final = (
    Case(
        name="parked",
        files={
            "approval.yaml": APPROVAL_FLOW,
            "question.yaml": QUESTION_FLOW,
            "signal.yaml": SIGNAL_FLOW,
            "by_hand.yaml": BY_HAND_FLOW,
            "cast.yaml": PARKED_CAST,
        },
        play=play_parked,
    ),
    Case(
        name="questions",
        files={
            "advice.yaml": ADVICE_FLOW,
            "exhausted.yaml": EXHAUSTED_FLOW,
            "protected.yaml": PROTECTED_FLOW,
            "veto.yaml": VETO_FLOW,
            "cast.yaml": QUESTIONS_CAST,
        },
        play=play_questions,
    ),
    Case(name="paused", files={"flow.yaml": PAUSED_FLOW, "cast.yaml": "[]\n"}, play=play_paused),
    Case(
        name="killed",
        files={
            "killed.yaml": KILLED_FLOW,
            "doubted.yaml": DOUBTED_FLOW,
            "recovered.yaml": RECOVERED_FLOW,
            "tools/helper": HELPER,
            "cast.yaml": KILLED_CAST,
        },
        play=play_killed,
    ),
)
