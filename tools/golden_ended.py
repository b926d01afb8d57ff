"""Golden projects whose runs are over: passed, failed, cancelled, stopped by a limit, made from an earlier run."""

from __future__ import annotations

from typing import Final

from tools.golden_driver import AGENTS, PARTIALS, Case, OldProject, waiting_step

LANDED_FLOW: Final = (
    AGENTS
    + """\
name: landed
inputs:
  audience: string
  names: {type: list, default: [ada, grace]}
vars: {letters: 0}
limits: {usd: 5}
gates:
  polite: {run: grep -q please hello.txt}
steps:
  ready: {wait: {file: flow.yaml}}
  write:
    agent: writer
    prompt: prompts/write.md
    touches: [hello.txt]
    gates: [polite, {name: short, check: change.files <= 3}]
  review:
    review: [judge, editor]
    of: write
    min_score: 6
    on: {rejected: write}
  letters:
    for_each: {in: inputs.names, as: name, key: name}
    parallel: 2
    agent: writer
    prompt: "Write to {{ name }}."
    touches: ["letters/${{ name }}.txt"]
  checks:
    parallel: true
    steps:
      count: {run: {script: "ls letters | wc -l"}, output: json}
      report:
        run:
          script: |
            printf '<testsuite tests="1"><testcase name="reads"/></testsuite>' > report.xml
        junit: report.xml
  counted: {set: {letters: "${{ steps.checks.steps.count.output }}"}}
  complete: {check: "vars.letters == 2 and exists('hello.txt')"}
  pause: {wait: {timer: 1s}}
  summary:
    agent: writer
    prompt: "Sum up {{ steps.write.text }}"
    touches: []
    output: {schema: {title: string, files: [path]}, file: summary.json}
  land: {git: {land: main, message: "Greet ${{ inputs.audience }}: ${{ steps.summary.output.title }}"}}
finally:
  tell: {run: [echo, "${{ run.outcome }}"]}
outputs: {title: "${{ steps.summary.output.title }}"}
"""
)
LANDED_CAST: Final = """\
- match: {step: write, visit: 1, attempt: 1}
  write: {hello.txt: "hello\\n"}
  usage: {input: 500, output: 20}
  cost_usd: 0.02
- match: {step: write, visit: 1}
  write: {hello.txt: "hello, please come in\\n"}
  text: It is polite now.
  usage: {input: 900, output: 120}
  cost_usd: 0.01
- match: {step: write, prompt: Say who is welcome}
  write: {hello.txt: "hello all, please come in\\n"}
  text: Everybody is welcome.
- match: {step: editor, visit: 1}
  verdict:
    decision: reject
    score: 4
    summary: Too short.
    findings: [{severity: major, issue: Say who is welcome, path: hello.txt, line: 1}]
- match: {step: editor}
  verdict: {decision: approve, score: 8, summary: Short and friendly.}
- match: {step: judge}
  verdict: {decision: approve, score: 7, summary: Good enough.}
- match: {step: letters, prompt: ada}
  write: {letters/ada.txt: "dear ada\\n"}
- match: {step: letters, prompt: grace}
  write: {letters/grace.txt: "dear grace\\n"}
- match: {step: summary}
  output: {title: two letters, files: [letters/ada.txt]}
"""


def play_landed(project: OldProject) -> None:
    project.podium("run", "flow.yaml", "-i", "audience=readers", "--set", "limits.usd=4")
    project.podium("export", "@1", "evidence")


FAILED_FLOW: Final = (
    AGENTS
    + """\
name: failed
steps:
  draft:
    agent: writer
    prompt: Write a draft.
    touches: [draft.txt]
    retry: {attempts: 1, transient: 1, backoff: 1s, degrade: [Write less.], on_exhausted: fail}
    gates: [{name: brief, run: grep -q brief draft.txt}]
  spare: {agent: writer, fallback: [critic], prompt: Find a spare., touches: []}
  clash:
    steps:
      left: {needs: [], run: {script: echo left > side.txt}, touches: [side.txt]}
      right: {needs: [], run: {script: echo right > side.txt}, touches: [side.txt]}
      both: {needs: [left, right], run: cat side.txt}
    on: {failed: next}
  block:
    steps:
      prepare: {run: "true"}
      build: {run: {script: "echo no compiler >&2; exit 3"}}
    retry: 2
finally:
  tell: {run: "true"}
"""
)
FAILED_CAST: Final = """\
- match: {step: draft, attempt: 1}
  error: overloaded
- match: {step: draft, prompt: Write less}
  write: {draft.txt: "brief\\n"}
- match: {step: draft}
  write: {draft.txt: "long\\n"}
- match: {step: spare, attempt: 1}
  error: auth
"""


def play_failed(project: OldProject) -> None:
    project.podium("run", "flow.yaml", exit_code=1)


CANCELLED_FLOW: Final = (
    AGENTS
    + f"""\
name: cancelled
steps:
  draft: {{agent: writer, prompt: Write a draft., touches: [draft.txt]}}
  build:{waiting_step("build")}
finally:
  clean_up: {{run: "true"}}
"""
)
ABANDONED_FLOW: Final = (
    AGENTS
    + """\
name: abandoned
steps:
  ask: {human: "Really?"}
finally:
  clean_up: {run: "true"}
"""
)


def play_cancelled(project: OldProject) -> None:
    child = project.start("run", "cancelled.yaml")
    project.wait_for("build")
    project.podium("cancel", "@1", "--reason", "no longer needed")
    child.wait()
    project.podium("run", "abandoned.yaml", exit_code=6)
    project.podium("cancel", "@1", "--force")


NESTED_FLOW: Final = (
    AGENTS
    + """\
name: nested
vars: {rounds: 0}
steps:
  count:
    repeat: {until: vars.rounds >= 2, max: 5}
    steps:
      add: {set: {rounds: "${{ vars.rounds + 1 }}"}}
  packages:
    for_each:
      in: [{name: web, after: [core]}, {name: core, after: []}]
      as: package
      key: package.name
      needs: package.after
    run: [echo, "${{ package.name }}"]
  search:
    for_each: [one, two, three]
    steps:
      look: {run: [test, "${{ item }}", "=", two], on: {failed: end, passed: break}}
  check:
    workflow: child.yaml
    with: {target: README.md}
  graph:
    steps:
      base: {needs: [], agent: writer, prompt: Lay the base., touches: [base.txt]}
      left: {needs: [base], run: grep -q second base.txt, on: {failed: base}}
      right: {needs: [base], run: cat base.txt}
      both: {needs: [left, right], run: "true"}
  drafts:
    agent: [writer, critic]
    prompt: Write a draft.
    touches: [draft.txt]
    join: best
  skipped: {when: "false", run: "false"}
outputs: {lines: "${{ steps.check.output.lines }}"}
"""
)
CHILD_FLOW: Final = """\
podium: 1
name: child
inputs: {target: path}
steps:
  count: {run: [wc, -l, "${{ inputs.target }}"]}
outputs: {lines: "${{ steps.count.text }}"}
"""
NESTED_CAST: Final = """\
- match: {step: base, visit: 1}
  write: {base.txt: "first\\n"}
- match: {step: base}
  write: {base.txt: "second\\n"}
- match: {step: writer}
  write: {draft.txt: "of the writer\\n"}
- match: {step: critic}
  write: {draft.txt: "of the critic\\n"}
"""


def play_nested(project: OldProject) -> None:
    project.podium("run", "flow.yaml", "--no-human")


LIMITED_FLOW: Final = (
    AGENTS
    + """\
name: limited
limits: {calls: 2}
steps:
  draft:
    agent: writer
    prompt: Write a draft.
    touches: [draft.txt]
    gates: [{name: long, run: grep -q long draft.txt}]
"""
)
LATE_FLOW: Final = AGENTS + "name: late\nsteps:\n  slow: {run: sleep 30, timeout: 1s}\n"


def play_limited(project: OldProject) -> None:
    project.podium("run", "limited.yaml", exit_code=5)
    project.podium("run", "late.yaml", exit_code=124)


REUSED_FLOW: Final = (
    AGENTS
    + """\
name: reused
inputs: {size: {type: string, default: small}}
steps:
  plan: {agent: writer, prompt: Plan it., touches: []}
  draft: {agent: writer, prompt: "Write it by {{ steps.plan.text }}.", touches: [draft.txt]}
  measure: {run: wc -c draft.txt}
  review: {review: judge, of: draft, prompt: Judge it.}
  ask: {human: "Is it good?"}
  close: {agent: writer, prompt: "Close it, {{ inputs.size }}.", touches: []}
"""
)
REUSED_CAST: Final = """\
- match: {step: plan}
  text: the plan
  usage: {input: 100, output: 10}
  cost_usd: 0.5
- match: {step: draft}
  write: {draft.txt: "a draft\\n"}
  cost_usd: 0.25
"""


def play_reused(project: OldProject) -> None:
    project.podium("run", "flow.yaml", exit_code=6)
    project.podium("approve")
    project.podium("rerun", "@1", "measure", "--yes")
    project.podium("fork", "@2", "--from", "close", "-i", "size=large", "--yes")


CASES: Final = (
    Case(
        name="landed",
        files={
            "flow.yaml": LANDED_FLOW,
            "cast.yaml": LANDED_CAST,
            "prompts/write.md": "Greet {{ inputs.audience }}.\n{{ feedback }}\n",
        },
        play=play_landed,
        questions=(
            ("diff", "@1"),
            ("diff", "@1", "write"),
            ("logs", "@1", "write"),
            ("prompt", "@1", "write", "--json"),
            ("verify", "evidence"),
            ("verify", "evidence", "--json"),
            *(("costs", "--by", key, "--json") for key in ("model", "role", "workflow", "run", "day")),
        ),
    ),
    Case(name="failed", files={"flow.yaml": FAILED_FLOW, "cast.yaml": FAILED_CAST}, play=play_failed),
    Case(
        name="cancelled",
        files={"cancelled.yaml": CANCELLED_FLOW, "abandoned.yaml": ABANDONED_FLOW, "cast.yaml": "[]\n"},
        play=play_cancelled,
    ),
    Case(
        name="nested",
        files={
            "flow.yaml": NESTED_FLOW,
            "child.yaml": CHILD_FLOW,
            "cast.yaml": NESTED_CAST,
            "README.md": "one\n",
        },
        play=play_nested,
    ),
    Case(
        name="limited",
        files={"limited.yaml": LIMITED_FLOW, "late.yaml": LATE_FLOW, "cast.yaml": "[]\n"},
        play=play_limited,
    ),
    Case(
        name="reused",
        files={**PARTIALS, "flow.yaml": REUSED_FLOW, "cast.yaml": REUSED_CAST},
        play=play_reused,
        questions=(
            ("rerun", "@3", "draft", "--dry-run", "--json"),
            ("fork", "@3", "--from", "review", "--dry-run", "--json"),
        ),
    ),
)
