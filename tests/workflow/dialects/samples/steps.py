"""Samples of the steps format."""

from __future__ import annotations

from collections.abc import Mapping

from tests.workflow.dialects.samples.sample import Map, Sample

ON: Map = {"success": {"goto": "_end"}, "failure": {"error": "no"}}
ECHO: Map = {"name": "First", "command": ["echo", "x"], "output_file": "first.txt"}


def steps(step: Map) -> Map:
    return {"version": "1.0", "name": "w", "steps": [ECHO, {"name": "It", **step}, {"name": "Last", "command": ["true"]}]}  # fmt: skip


ANY_STEP: Map = {
    "name": "Other",
    "description": "Words.",
    "when": {"env_set": "X"},
    "on": {"success": {"goto": "_end"}},
    "allow_missing_vars": ["x"],
    "catch": {"steps": [{"name": "Mend", "command": ["true"]}]},
}
WORKING: Map = {
    **ANY_STEP,
    "timeout": 9,
    "retry": {"attempts": 3},
    "secrets": ["TOKEN"],
    "input_file": "a.md",
    "input_files": ["a.md", "b.md"],
    "output_file": "out.txt",
}
INNER: list[Map] = [{"name": "Inner", "command": ["true"]}]


def when(predicate: str, mapping: Map) -> Map:
    return steps({"command": ["true"], "when": {predicate: mapping}})


STEPS: Mapping[str, Sample] = {
    "the top level": Sample(
        lambda it: {"steps": [{**ECHO, "on": ON}], **it},
        {"version": "1.0", "name": "w"},
        {
            "version": "1.0",
            "name": "other",
            "description": "Words.",
            "strict_flow": True,
            "context": {"a": "1"},
            "secrets": ["TOKEN"],
            "env": ["HOME"],
            "timeout": 9,
            "steps": [{"name": "Other", "command": ["true"]}],
        },
    ),
    "steps, with command": Sample(
        steps,
        {"command": ["echo", "${context.x}"]},
        {**WORKING, "command": ["true"], "allow_missing_vars": ["context.x"]},
    ),
    "steps, with provider": Sample(
        steps,
        {"provider": "house", "prompt": "Go ${context.x}."},
        {
            **WORKING,
            "provider": "claude",
            "model": "m",
            "max_tokens": 9,
            "prompt": "Stop.",
            "prompt_file": "p.md",
            "allow_missing_vars": ["context.x"],
        },
    ),
    "steps, with for_each": Sample(
        steps,
        {"for_each": {"items": ["a"], "steps": INNER}, "when": {"equals": {"left": "${context.x}", "right": "1"}}},
        {**ANY_STEP, "for_each": {"items": ["b"], "steps": INNER}, "allow_missing_vars": ["context.x"]},
    ),
    "steps, with while": Sample(
        steps,
        {"while": {"condition": {"env_set": "X"}, "steps": INNER}, "when": {"equals": {"left": "${context.x}", "right": "1"}}},
        {**ANY_STEP, "while": {"condition": {"env_set": "Y"}, "steps": INNER}, "allow_missing_vars": ["context.x"]},
    ),
    "steps, with parallel": Sample(
        steps,
        {"parallel": {"steps": INNER}, "when": {"equals": {"left": "${context.x}", "right": "1"}}},
        {**ANY_STEP, "parallel": {"steps": [{"name": "Two", "command": ["true"]}]}, "allow_missing_vars": ["context.x"]},
    ),
    "steps, with set_context": Sample(
        steps,
        {"set_context": {"a": "1${context.x}"}},
        {**ANY_STEP, "set_context": {"a": "2"}, "allow_missing_vars": ["context.x"]},
    ),
    "steps.for_each": Sample(
        lambda it: steps({"for_each": {"items": ["a"], "steps": INNER, **it}}),
        {},
        {"items": ["b"], "as": "file", "steps": [{"name": "Two", "command": ["true"]}]},
    ),
    "steps.while": Sample(
        lambda it: steps({"while": {"condition": {"env_set": "X"}, "steps": INNER, **it}}),
        {},
        {"condition": {"env_set": "Y"}, "max_iterations": 7, "steps": [{"name": "Two", "command": ["true"]}]},
    ),
    "steps.retry": Sample(lambda it: steps({"command": ["true"], "retry": it}), {}, {"attempts": 4}),
    "steps.on": Sample(
        lambda it: steps({"command": ["true"], "on": it}),
        {},
        {key: {"goto": "First"} for key in ("success", "failure", "timeout")},
    ),
    "steps.on, with set_context": Sample(
        lambda it: steps({"set_context": {"a": "1"}, "on": it}),
        {},
        {key: {"goto": "First"} for key in ("success", "failure", "timeout")},
    ),
    "steps.on.OUTCOME": Sample(
        lambda it: steps({"command": ["true"], "on": {"success": {**({} if it else {"goto": "First"}), **it}}}),
        {},
        {"goto": "Last", "error": "It broke", "end": True},
    ),
    "steps.when, while.condition": Sample(
        lambda it: steps({"command": ["true"], "when": {"env_set": "Y", **it}}),
        {},
        {
            "step_ok": "First",
            "file_exists": "a.txt",
            "equals": {"left": "a", "right": "b"},
            "exit_code": {"step": "First", "op": "==", "value": 0},
            "env_set": "X",
            "contains": {"haystack": "a", "needle": "b"},
            "regex": {"text": "a", "pattern": "b"},
            "number": {"left": "1", "op": "<", "right": "2"},
            "all": [{"env_set": "X"}],
            "any": [{"env_set": "X"}],
            "not": {"env_set": "X"},
        },
    ),
    "when.exit_code": Sample(
        lambda it: when("exit_code", {"step": "First", "op": "==", "value": 0, **it}),
        {},
        {"step": "It", "op": ">", "value": 7},
    ),
    "when.equals": Sample(lambda it: when("equals", {"left": "a", "right": "b", **it}), {}, {"left": "c", "right": "d"}),
    "when.contains": Sample(lambda it: when("contains", {"haystack": "a", "needle": "b", **it}), {}, {"haystack": "c", "needle": "d"}),
    "when.regex": Sample(lambda it: when("regex", {"text": "a", "pattern": "b", **it}), {}, {"text": "c", "pattern": "d", "flags": "i"}),
    "when.number": Sample(lambda it: when("number", {"left": "1", "op": "<", "right": "2", **it}), {}, {"left": "3", "op": ">", "right": "4"}),
}  # fmt: skip
