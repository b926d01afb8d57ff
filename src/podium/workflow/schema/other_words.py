"""What the words of other workflow formats are called here: hints for unknown keys, written without signs between words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final


def hint_for(words: Mapping[str, str], key: str) -> str:
    """The hint for a key, however its words are joined; empty if there is none."""
    return words.get(_plain(key), "")


def _plain(key: str) -> str:
    return key.lower().replace("_", "").replace("-", "")


def _table(rows: Iterable[tuple[str, str]]) -> dict[str, str]:
    return {_plain(word): hint for words, hint in rows for word in words.split()}


STEP: Final = _table(
    (
        ("depends_on depends dependencies requires upstream wait_for run_after", "write needs: [a, b]"),
        (
            "routes switch case cases router branches conditional_edges edges transitions",
            "write on: {passed: [{when: ..., to: a}, {to: b}]}",
        ),
        ("next goto then on_success success", "write on: {passed: STEP}"),
        ("on_failure on_error catch rescue failure", "write on: {failed: STEP}"),
        ("continue_on_error continue_on_fail ignore_errors allow_failure", "write on: {failed: next}"),
        ("if condition unless skip_if", "write when: with an expression"),
        ("foreach map each matrix fan_out", "write for_each: with a list"),
        ("trigger_rule run_if join_type", "write needs: {of: [a, b], pass: any} or pass: done"),
        ("race first fail_fast", "write pass: 1 with cancel: rest"),
        ("while until loop max_iterations", "write repeat: {until: ..., max: 3}"),
        ("retries max_retries max_attempts", "write retry: 3"),
        (
            "policy approvers approval",
            "write level: with the name of a policy, or approvals: 2 with by: [a, b]",
        ),
        ("ask question questions interrupt user_input", "write human: with the question"),
        ("continue_as_new start_again again", "write continue_as: new"),
        ("repository repo project", "write workflow: {file: a.yaml, in: ../folder}"),
        ("call call_workflow subworkflow sub_workflow subgraph uses include", "write workflow: FILE"),
        ("agents reviewers panel", "agent: and review: take a list, also one from ${{ }}"),
        ("assignee worker executor provider", "write agent: NAME or role: NAME"),
        ("instructions instruction goal task message expected_output", "write prompt: with the text"),
        (
            "system system_prompt system_message persona backstory",
            "write system: on a role, and role: on the step",
        ),
        ("max_turns max_calls", "write limits: {calls: 10}"),
        ("budget max_cost max_budget", "write limits: {usd: 1}"),
        ("bash shell command cmd exec sh", "write run: COMMAND, or run: {script: TEXT}"),
        ("script code", "write run: {script: TEXT}"),
        ("sleep delay timer duration", "write wait: {timer: 5m}"),
        ("signal event wait_for_signal", "write wait: {signal: NAME}"),
        ("cwd workdir working_directory", "write dir: FOLDER"),
        (
            "schema output_schema output_type response_format output_format outputs",
            "write output: {schema: ...}",
        ),
        ("output_key save_as register", "other steps read steps.NAME.output"),
        ("inputs args arguments params parameters", "write with: {name: value}"),
        ("mcp mcp_servers mcps", "MCP servers are a setting of the agent: mcp, in your own configuration"),
        ("id", "the key of a step is its name"),
        (
            "type kind",
            "the key says what a step does: agent, run, review, human, check, wait, set, git, steps, workflow",
        ),
    )
)
"""For steps."""

FILE: Final = _table(
    (
        (
            "on trigger schedule cron events webhook",
            'write triggers: {NAME: {cron: "0 9 * * 1-5", per_day: {runs: 2}}}',
        ),
        (
            "nodes jobs tasks states stages phases pipeline graph flow workflow",
            "write steps: with a map of steps",
        ),
        ("edges transitions routes", "write on: or needs: in the steps"),
        ("state variables context_variables", "write vars: {name: value}"),
        ("params parameters arguments args input", "write inputs: {name: string}"),
        ("version", "write podium: 1"),
        ("mcp mcp_servers mcps", "MCP servers are a setting of the agent: mcp, in your own configuration"),
        ("budget max_cost", "write limits: {usd: 5}"),
        ("timeout", "write limits: {time: 1h}"),
        ("on_exit cleanup always", "write finally: with steps"),
        ("concurrency", "write max_parallel: 4"),
    )
)
"""For the top of a file."""
