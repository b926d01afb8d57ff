"""Twenty small workflows, each of which lets a secret out by another way. `LEAK` prints it in every encoding."""

from __future__ import annotations

import json
import sys
from typing import Final

LEAK: Final = json.dumps([sys.executable, "-I", "-S", "leak.py"])[1:-1]
LINE: Final = f"{sys.executable} -I -S leak.py"
HEAD: Final = "podium: 1\nname: canary\nsecrets: [TOKEN]\nlimits: {unknown_cost: count_tokens}\n"
AGENTS: Final = (
    f"agents: {{teller: {{type: command, command: [{LEAK}, both]}}, faulty: {{type: command, command: [{LEAK}, both, '2']}}, "
    "actor: {type: scripted, script: cast.yaml}}\n"
)
QUIET: Final = "touches: [], no_change: pass"

WORKFLOWS: Final[dict[str, str]] = {
    "a command prints it": f"steps:\n  a: {{run: [{LEAK}, both], secrets: [TOKEN]}}\n",
    "a command fails with it": f"steps:\n  a: {{run: [{LEAK}, err, '7'], secrets: [TOKEN], on: {{else: next}}}}\n",
    "a command prints more than is kept in memory": f"steps:\n  a: {{run: [{LEAK}, much], secrets: [TOKEN]}}\n",
    "a script prints it": f"steps:\n  a: {{run: {{script: '{LINE} both'}}, secrets: [TOKEN]}}\n",
    "an artifact holds it": f"steps:\n  a: {{run: [{LEAK}, both], secrets: [TOKEN], output: {{file: kept.txt}}}}\n",
    "a list of lines holds it": f"steps:\n  a: {{run: [{LEAK}, both], secrets: [TOKEN], output: lines}}\n"
    '  b: {for_each: "steps.a.output", run: [echo, "${{ item }}"]}\n',
    "the next command reads it": f"steps:\n  a: {{run: [{LEAK}, out], secrets: [TOKEN]}}\n"
    '  b: {run: [cat], stdin: "${{ steps.a.output }}"}\n',
    "an argument carries it": f"steps:\n  a: {{run: [{LEAK}, out], secrets: [TOKEN]}}\n"
    '  b: {run: [echo, "${{ steps.a.output }}"]}\n',
    "a variable holds it": f"vars: {{v: x}}\nsteps:\n  a: {{run: [{LEAK}, out], secrets: [TOKEN]}}\n"
    '  b: {set: {v: "${{ steps.a.output }}"}}\n  c: {run: [echo, "${{ vars.v }}"]}\n',
    "the run hands it out": f'outputs: {{o: "${{{{ steps.a.output }}}}"}}\nsteps:\n  a: {{run: [{LEAK}, both], secrets: [TOKEN]}}\n',
    "a gate fails with it and an agent hears of it": f"{AGENTS}steps:\n  a:\n    agent: actor\n    prompt: 'Do it {{{{ feedback }}}}'\n"
    "    touches: [code.txt]\n    retry: {attempts: 2, on_exhausted: fail}\n    on: {else: next}\n"
    f"    gates: [{{run: [{LEAK}, both, '1'], secrets: [TOKEN]}}]\n",
    "a report of tests holds it": "steps:\n  a: {run: {script: 'printf \"<testsuite><testcase name=\\\"%s\\\"/></testsuite>\" $TOKEN > r.xml; "
    f"{LINE} out'}}, junit: r.xml, secrets: [TOKEN]}}\n",
    "a report of coverage holds it": "steps:\n  a: {run: {script: 'printf \"LF:1\\nLH:1\\nSF:%s\\n\" $TOKEN > c.info; "
    f"{LINE} out'}}, coverage: {{report: c.info}}, secrets: [TOKEN]}}\n",
    "an agent says it": f"{AGENTS}steps:\n  a: {{agent: teller, prompt: Tell, {QUIET}, secrets: [TOKEN], output: {{file: told.txt}}}}\n",
    "an agent breaks with it": f"{AGENTS}steps:\n  a: {{agent: faulty, prompt: Tell, {QUIET}, secrets: [TOKEN], "
    "retry: {attempts: 1, transient: 0, on_exhausted: fail}, on: {else: next}}\n",
    "a prompt quotes it": f"{AGENTS}steps:\n  a: {{run: [{LEAK}, both], secrets: [TOKEN]}}\n"
    f"  b: {{agent: actor, prompt: 'See {{{{ steps.a.output }}}}', {QUIET}}}\n",
    "a file of the project is packed with it": f"{AGENTS}steps:\n  b: {{agent: actor, prompt: Look, context: [known.txt], {QUIET}}}\n",
    "a reviewer quotes it": f"{AGENTS}steps:\n  a: {{agent: actor, prompt: Do it, touches: [code.txt]}}\n"
    "  b: {review: actor, of: a, on: {else: next}}\n",
    "a person is asked with it": f"steps:\n  a: {{run: [{LEAK}, both], secrets: [TOKEN]}}\n"
    "  b: {human: 'Is {{ steps.a.output }} good?', timeout: 1s, on: {else: next}}\n",
    "what is waited for prints it": f"steps:\n  a: {{wait: {{poll: [{LEAK}, both, '1'], every: 1s}}, secrets: [TOKEN], on: {{else: next}}}}\n",
    "a time runs out while it is printed": f"steps:\n  a: {{run: {{script: '{LINE} both; sleep 60'}}, timeout: 2s, secrets: [TOKEN], on: {{else: next}}}}\n",
    "a block catches it": f"steps:\n  a:\n    steps:\n      b: {{run: [{LEAK}, err, '3'], secrets: [TOKEN]}}\n    on: {{failed: c}}\n"
    "  c: {run: [echo, done]}\n",
}  # fmt: skip
