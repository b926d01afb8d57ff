"""Golden projects with a recording, a conversation, a folder outside of git, and workflows written for other tools."""

from __future__ import annotations

from typing import Final

from tools.golden_driver import AGENTS, PARTIALS, Case, OldProject

CONFIG: Final = """\
sandbox: limits
agents:
  claude: {type: scripted, script: cast.yaml}
  codex: {type: scripted, script: cast.yaml}
roles:
  author: {agent: claude, system: You write.}
  judge: {agent: claude, system: You judge texts., touches: []}
"""

RECORDED_FLOW: Final = """\
podium: 1
name: recorded
sandbox: limits
limits: {unknown_cost: count_tokens}
agents:
  helper: {type: command, command: helper}
roles:
  judge: {agent: helper, system: You judge texts., touches: []}
steps:
  write:
    agent: helper
    prompt: "Write a greeting for {{ run.id }} of {{ run.date }}."
    touches: ["**"]
    gates: [{name: greets, run: grep -q hello hello.txt}]
  review: {review: judge, of: write, prompt: Judge it., on: {rejected: write}}
  land: {git: {land: main, message: Add the greeting}}
"""
HELPER: Final = r"""#!/bin/sh
prompt=$(cat)
verdict() {
    nonce=$(printf '%s\n' "$prompt" | sed -n 's/^nonce: //p')
    tree=$(printf '%s\n' "$prompt" | sed -n 's/^tree: //p')
    printf '{"decision": "%s", "score": %s, "findings": %s, "summary": "%s", "nonce": "%s", "tree": "%s"}\n' \
        "$1" "$2" "$3" "$4" "$nonce" "$tree"
}
case $prompt in
*'nonce: '*'+hello, please'* | *'+hello, please'*'nonce: '*) verdict approve 8 '[]' 'It is polite.' ;;
*'nonce: '*) verdict reject 3 '[{"severity": "major", "issue": "Say please", "path": "hello.txt"}]' 'It is rude.' ;;
*'Say please'*) echo 'hello, please come in' > hello.txt; rm -f old.txt; echo 'It is polite now.' ;;
*) echo 'hello' > hello.txt; echo 'Written.' ;;
esac
"""


def play_recorded(project: OldProject) -> None:
    project.podium("run", "flow.yaml", "--record", "tapes")
    # Back to where the recording began, so that a replay starts from the same tree.
    project.git("reset", "--quiet", "--hard", "HEAD~1")


REPLAYED_FLOW: Final = (
    AGENTS
    + """\
name: replayed
steps:
  first: {agent: writer, prompt: Begin., touches: []}
  ask: {human: "Go on?"}
  second: {agent: writer, prompt: End., touches: []}
"""
)


def play_replayed(project: OldProject) -> None:
    project.podium("run", "flow.yaml", "--record", "tapes", exit_code=6)
    project.podium("approve")
    project.podium("run", "flow.yaml", "--replay", "tapes", exit_code=6)


TALK_FLOW: Final = """\
podium: 1
name: talk
sandbox: limits
limits: {unknown_cost: count_tokens}
agents:
  helper: {type: command, command: tools/helper, resume: [tools/helper, "{session}"]}
roles:
  thinker: {agent: helper, system: You think., touches: [], continuity: {turns: 3}}
steps:
  ideas: {role: thinker, prompt: Name three ways.}
  ask: {human: "Is {{ steps.ideas.text }} enough?"}
  choice: {role: thinker, prompt: "Which of them?"}
outputs: {choice: "${{ steps.choice.text }}"}
"""
TALKER: Final = """\
#!/bin/sh
cat > /dev/null
printf '{"podium": 1, "text": "session %s", "session": "s-1", "usage": {"input": 5, "output": 2}}\\n' "${1:-new}"
"""


def play_talk(project: OldProject) -> None:
    project.podium("run", "flow.yaml", exit_code=6)


GATES_FLOW: Final = """\
workflow: {id: two-steps, name: Two steps}
steps:
  - {id: X-1, name: write-tests, agent: {type: author}, outputs: [test_a.py], gate: XG-1-2}
  - {id: X-2, name: implement, agent: {type: author}, outputs: [a.py], gate: XG-2-end}
gates:
  - id: XG-1-2
    name: review-tests
    reviewer: {level: auto, agent_type: judge}
    on_pass: {next_step: X-2}
    on_fail: {next_step: X-1, retry_context_path: ".workflow/retry-context/XG-1-2-attempt-{n}.md"}
    max_retries: 2
  - id: XG-2-end
    name: sign-off
    reviewer: {level: human}
    on_pass: {next_step: DONE}
    on_fail: {next_step: X-2}
    max_retries: 2
"""
GATES_CAST: Final = """\
- match: {step: "write_tests#1/review_tests/judge"}
  verdict:
    decision: reject
    score: 3
    summary: It proves nothing.
    findings: [{severity: major, issue: no assert, path: test_a.py}]
- match: {step: write_tests}
  write: {test_a.py: "a test\\n"}
- match: {step: implement}
  write: {a.py: "a module\\n"}
"""

STEPS_FLOW: Final = """\
version: "1.0"
name: pages
strict_flow: true
context: {branch: main}
steps:
  - name: Collect
    command: [ls, "${context.folder}"]
    output_file: names.txt
    on: {success: {goto: Describe}, failure: {error: nothing to collect}}
  - name: Describe
    provider: claude
    input_file: prompts/describe.md
    output_file: page.html
    retry: {attempts: 2}
    on: {success: {goto: Publish}, failure: {error: no page}}
  - name: Publish
    when: {all: [{step_ok: Describe}, {equals: {left: "${context.branch}", right: main}}]}
    command: [wc, -c]
    input_file: artifacts/Describe/page.html
    on: {success: {goto: _end}, failure: {error: not published}}
"""

STATES_FLOW: Final = """\
states:
  start: {type: initial, next: draft}
  draft:
    type: fan-out
    agents: [claude, codex]
    output: "drafts/{agent}_draft.md"
    prompt: Write the post.
    transitions: {all_success: merge, partial_success: merge, all_failure: halt}
  merge:
    type: single
    agent: claude
    input: "drafts/*.md"
    transitions: {success: approve, failure: halt}
  approve:
    type: human-approval
    prompt: Publish it?
    transitions: {approved: complete, feedback: merge, abort: halt}
  complete: {type: terminal}
  halt: {type: terminal, error: true}
"""

SUPERVISOR_FLOW: Final = """\
workflow:
  name: Small
  initial_step: plan
  steps:
    commit: {gate_type: orchestrator, command: git commit, human_approval: true, terminal: true}
    fix: {role: author, next: commit, on_fail: plan, retry_policy: aggressive}
    plan: {role: author, next: look, outputs: [files]}
    look: {role: judge, gate: "REVIEW_STATUS: APPROVED", on_reject: plan, next: fix}
"""

OUTSIDE_FLOW: Final = """\
podium: 1
name: outside
sandbox: limits
agents:
  writer: {type: scripted, script: cast.yaml}
steps:
  draft: {agent: writer, prompt: Write a draft.}
  count: {run: wc -c draft.txt}
"""


def play_outside_git(project: OldProject) -> None:
    project.podium("run", "flow.yaml")


def play_gates(project: OldProject) -> None:
    project.podium("run", "flow.yaml", exit_code=6)


def play_steps(project: OldProject) -> None:
    project.podium("run", "flow.yaml", "--context", "folder=prompts")


def play_states(project: OldProject) -> None:
    project.podium("run", "flow.yaml", exit_code=6)
    project.podium("approve")


def play_supervisor(project: OldProject) -> None:
    project.podium("run", "flow.yaml", "-i", "task=Add a greeting", exit_code=6)
    project.podium("reject", "--feedback", "Not today.", exit_code=4)


CASES: Final = (
    Case(
        name="recorded",
        files={**PARTIALS, "flow.yaml": RECORDED_FLOW, "old.txt": "old\n"},
        play=play_recorded,
        programs={"helper": HELPER},
    ),
    Case(name="replayed", files={"flow.yaml": REPLAYED_FLOW, "cast.yaml": "[]\n"}, play=play_replayed),
    Case(name="talk", files={"flow.yaml": TALK_FLOW, "tools/helper": TALKER}, play=play_talk),
    Case(
        name="gates_format",
        files={"flow.yaml": GATES_FLOW, "cast.yaml": GATES_CAST, ".podium/config.yaml": CONFIG},
        play=play_gates,
    ),
    Case(
        name="steps_format",
        files={
            "flow.yaml": STEPS_FLOW,
            "cast.yaml": "[]\n",
            ".podium/config.yaml": CONFIG,
            "workspace/prompts/describe.md": "Describe the pages.\n",
        },
        play=play_steps,
    ),
    Case(
        name="states_format",
        files={"flow.yaml": STATES_FLOW, "cast.yaml": "[]\n", ".podium/config.yaml": CONFIG},
        play=play_states,
    ),
    Case(
        name="supervisor_format",
        files={"flow.yaml": SUPERVISOR_FLOW, "cast.yaml": "[]\n", ".podium/config.yaml": CONFIG},
        play=play_supervisor,
    ),
    Case(
        name="outside_git",
        files={
            "flow.yaml": OUTSIDE_FLOW,
            "cast.yaml": '- {match: {step: draft}, write: {draft.txt: "a draft\\n"}}\n',
        },
        play=play_outside_git,
        has_git=False,
    ),
)
