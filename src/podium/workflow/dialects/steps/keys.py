"""The keys of the steps format, and what becomes of each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from podium.workflow.dialects.key_register import Key, Part, translated, without_effect

FILE: Final = Part(
    "the top level",
    translated(
        version="the version of the format",
        name="`name`",
        description="`description`",
        strict_flow="`strict`",
        context="`vars`",
        secrets="`secrets`",
        env="`env`",
        timeout="`limits.time`",
        steps="`steps`",
    ),
)
ANY_STEP: Final = translated(
    name="the name of the step",
    description="`description`",
    when="`when`",
    on="`on`",
    allow_missing_vars="the variables that may be missing, as `default(...)`",
    catch="the steps that a failure leads to",
)
WORKING: Final = {
    **ANY_STEP,
    **translated(
        timeout="`timeout`",
        retry="`retry.attempts`",
        secrets="`secrets`",
        input_file="`stdin`",
        input_files="`stdin`, one file after the other",
        output_file="`output`: `file`, and `folder: workspace/artifacts/STEP`",
    ),
}
COMMAND: Final = Part("steps, with command", {**WORKING, **translated(command="`run`")})
PROVIDER: Final = Part(
    "steps, with provider",
    {
        **WORKING,
        **translated(
            provider="`agent`; a provider without an agent of its own is `run` with the program PROVIDER-shim",
            model="`model`, `--model` of the shim",
            max_tokens="`--max-tokens` of the shim; an agent is warned about",
            prompt="`stdin`",
            prompt_file="`stdin`, before the input files",
        ),
    },
)
STEPS: Final[Mapping[str, Part]] = {
    "command": COMMAND,
    "provider": PROVIDER,
    "for_each": Part("steps, with for_each", {**ANY_STEP, "for_each": Key("translated", "`for_each`")}),
    "while": Part("steps, with while", {**ANY_STEP, "while": Key("translated", "`repeat.while`")}),
    "parallel": Part("steps, with parallel", {**ANY_STEP, "parallel": Key("translated", "`parallel`")}),
    "set_context": Part("steps, with set_context", {**ANY_STEP, "set_context": Key("translated", "`set`")}),
}
FOR_EACH: Final = Part(
    "steps.for_each",
    {
        **translated(items="`for_each.in`", steps="`steps`"),
        "as": Key("translated", "`for_each.as`"),
    },
)
WHILE: Final = Part(
    "steps.while",
    translated(condition="`repeat.while`", max_iterations="`repeat.max`, 1000 by default", steps="`steps`"),
)
RETRY: Final = Part(
    "steps.retry",
    translated(attempts="`retry.attempts` for the exit codes 1 and 124, with a backoff of 2 s"),
)
ROUTES: Final = Part(
    "steps.on", translated(success="`on.passed`", failure="`on.else`", timeout="`on.timeout`")
)
ROUTES_OF_SET: Final = Part(
    "steps.on, with set_context",
    {
        **translated(success="`on.passed`"),
        "failure": without_effect("setting values does not fail"),
        "timeout": without_effect("setting values has no timeout"),
    },
)
TARGET: Final = Part(
    "steps.on.OUTCOME",
    translated(
        goto="a step, or `end`, `fail`, `break`; out of a loop by a variable and a check after the loop",
        error="`fail` with a message",
        end="`end`",
    ),
)
PREDICATES: Final[Mapping[str, Part]] = {
    name: Part(f"when.{name}", translated(**dict.fromkeys(keys, "part of the expression")))
    for name, keys in {
        "exit_code": ("step", "op", "value"),
        "equals": ("left", "right"),
        "contains": ("haystack", "needle"),
        "regex": ("text", "pattern", "flags"),
        "number": ("left", "op", "right"),
    }.items()
}
CONDITION: Final = Part(
    "steps.when, while.condition",
    {
        **translated(
            step_ok="whether the step passed",
            file_exists="`exists(...)`",
            equals="`==`",
            exit_code="a comparison with the exit code",
            env_set="whether the variable is set",
            contains="`in`",
            regex="`matches(...)`",
            number="a comparison of numbers",
            all="`and`",
            any="`or`",
        ),
        "not": Key("translated", "`not`"),
    },
)
REGISTER: Final = (
    FILE,
    *STEPS.values(),
    FOR_EACH,
    WHILE,
    RETRY,
    ROUTES,
    ROUTES_OF_SET,
    TARGET,
    CONDITION,
    *PREDICATES.values(),
)
