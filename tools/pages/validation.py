"""The table of all validation rules, and the reference page made from it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Rule(NamedTuple):
    number: int
    title: str
    messages: tuple[str, ...]
    why: str
    warning: bool = False


HEAD: Final = """# Validation

Everything below is checked before a run starts. All problems are reported at once as `file:line:col: message`, with a
hint where one helps. A file with a problem ends with exit code 2, a path that leaves the project (rule 24) with 3.
Warnings do not prevent a run.
"""


def rules_page() -> str:
    parts = [HEAD]
    for rule in RULES:
        kind = " (warning)" if rule.warning else ""
        parts.append(f"## {rule.number}. {rule.title}{kind}\n\n{rule.why}\n")
        parts.append("\n".join(f"- `{message}`" for message in rule.messages) + "\n")
    return "\n".join(parts)


RULES: Final = (
    Rule(
        1,
        "strict YAML",
        ('duplicate key "gates"', "aliases are not allowed", 'tag "!x" is not allowed'),
        "The loader reads exactly what the file shows: nothing is overwritten, included from elsewhere or converted.",
    ),
    Rule(
        2,
        "scalar types",
        ('"version" must be text; write "1.10"',),
        "A number in place of text may already have lost something, such as the zero of 1.10.",
    ),
    Rule(
        3,
        "known keys",
        ('step "fix" has an unknown key "promt"',),
        "A misspelled key would otherwise be ignored.",
    ),
    Rule(
        4,
        "one verb",
        ('step "fix" has two verbs, "run" and "role"', 'step "fix" has no verb'),
        "A step does one thing and ends with one of the outcomes of that verb.",
    ),
    Rule(
        5,
        "key fits verb",
        ('"junit" belongs to "run", not to "human"', '"parallel" needs for_each, steps or build'),
        "A key that its verb does not use would have no effect.",
    ),
    Rule(
        6,
        "names",
        (
            '"cross-audit" is not a valid name; write "cross_audit"',
            '"test" is already the name of a step around it',
        ),
        "Names are used in expressions, in paths and on the command line, and must be unambiguous in each.",
    ),
    Rule(
        7,
        "targets",
        (
            'on.failed of "test": step "implemnt" does not exist in this block',
            'on.failed of "a": the step is not inside a loop',
        ),
        "A route leads to a step of the same block; the block itself is routed when it ends.",
    ),
    Rule(
        8,
        "possible outcome",
        ('"check" never ends "rejected"', '"faild" is not an outcome'),
        "A route for an impossible outcome was probably meant for another one.",
    ),
    Rule(
        9,
        "reachable",
        ('step "report" cannot be reached',),
        "No route leads to the step, so it would never run.",
    ),
    Rule(
        10,
        "block kind",
        ('"lint" has no "needs" but "test" has; write needs: [] to start it at once',),
        "Otherwise adding one needs would start all other steps at once.",
    ),
    Rule(
        11,
        "graphs",
        ('on.failed of "b": "c" does not come before it', "needs: a -> b -> a is a cycle"),
        "In a graph a route may lead back only to an earlier step, and the graph must have an order.",
    ),
    Rule(
        12,
        "order of reading",
        ('"plan" reads steps.review, which runs later; use "feedback" for what a later step sends back',),
        "A step reads only steps that are finished when it starts, so that it never reads a stale value.",
    ),
    Rule(
        13,
        "needs cover reads",
        ('"b" reads steps.a but does not need it',),
        "In a graph only needs define the order; without them the value may or may not exist.",
    ),
    Rule(
        14,
        "absent values",
        (
            "steps.notes may not have run; use default(...)",
            "vars.best may not have been set; use default(...)",
            '"each" sets vars.best in for_each, where it ends with each iteration',
        ),
        "A step with when, a step that a route skips, or an optional field may have no value. A variable that is set in an "
        "iteration is gone after it, unless the loop carries it: then a read after the loop is a warning, or an error if "
        "nothing else sets it.",
    ),
    Rule(
        15,
        "variables",
        ("vars.best is never set", 'inputs has no "taks"', 'step "plam" does not exist'),
        "An undeclared name is nearly always a typing error.",
    ),
    Rule(
        16,
        "fields",
        ('Plan has no field "titel"', "schema Plam does not exist"),
        "The output of a step declares its fields, so a wrong field is found before a model is paid.",
    ),
    Rule(
        17,
        "expressions",
        ('calls to "open" are not allowed', "cannot compare text with a number"),
        "Types are never converted, and an expression can only select and compare values.",
    ),
    Rule(
        18,
        "braces",
        (
            '"{{ }}" in a value; write "${{ }}"',
            '"${{ }}" in a prompt; write "{{ }}"',
            '"when" is an expression; remove the braces',
        ),
        "The braces distinguish values, prompts and expressions.",
    ),
    Rule(
        19,
        "scripts",
        ("a script cannot contain ${{ }}; pass values in env",),
        "A value inserted into a script could let a model run commands.",
    ),
    Rule(
        20,
        "prompts",
        ("prompts/plan.md does not exist", "the prompt reads steps.x.output, which is not declared"),
        "A prompt with a missing part costs as much as a complete one.",
    ),
    Rule(
        21,
        "roles and agents",
        (
            'role or agent "reviwer" does not exist',
            'role "trader" extends itself',
            'retry preset "agressive" does not exist',
        ),
        "A role or agent in a file must exist; one that is named at run time is looked up then.",
    ),
    Rule(
        22,
        "capability",
        (
            'codex cannot enforce tools: [read], which role "auditor" requires',
            '"fix" has continuity but may change files',
            'agents.mine.effort is "turbo", not one of "minimal", "low", "medium", "high", "xhigh"',
        ),
        "A restriction that the agent cannot enforce, or a setting that it does not have, would have no effect.",
    ),
    Rule(
        23,
        "loops end",
        ("repeat needs max", "repeat needs exactly one of until and while"),
        "Every run ends, whatever the models answer.",
    ),
    Rule(
        24,
        "paths",
        ('"../x" leaves the project',),
        "Nothing outside the project is read or written (exit 3).",
    ),
    Rule(
        25,
        "secrets",
        ('secret "TOKEN" is not declared at the top',),
        "The top of a file lists every secret that it uses.",
    ),
    Rule(
        26,
        "judged work",
        ('"review" judges "approve", which produces nothing',),
        "A review needs work to judge; without it the verdict would mean nothing.",
    ),
    Rule(
        27,
        "phrase",
        ("phrase cannot approve a step that changes files",),
        "An exact last line says something about a text and nothing about files.",
    ),
    Rule(
        28,
        "claims",
        ('"a" and "b" run in parallel and may change the same files; one will wait for the other',),
        "Steps that change the same files wait for each other, so they run less in parallel than expected.",
        warning=True,
    ),
    Rule(
        29,
        "counts",
        (
            "pass: 4 is more than 3 members",
            "approvals: 3, but only 1 may answer",
            "for_each over 240 items exceeds limits.members",
            "after: 3 is never reached with 3 attempts",
        ),
        "A rule that cannot be met or too many members would otherwise fail only after the work is done.",
    ),
    Rule(
        30,
        "strict",
        ('strict: "test" does not route "timeout"',),
        "With strict, a file routes every outcome; only skipped needs no route.",
    ),
    Rule(
        31,
        "join",
        (
            "join: best needs a list of agents",
            '"implement" has 3 workers that change files; add join: best, queue or discard',
        ),
        "Several trees are joined only in a way that the file chooses.",
    ),
    Rule(
        32,
        "policy",
        (
            'policy "risk" must end with a rule without when',
            'level or policy "riks" does not exist',
            'policy "risk" reads a change, but "approve" judges none',
        ),
        "A policy needs a rule for every change, and a change to apply to.",
    ),
    Rule(
        33,
        "templates",
        (
            'new step "pen_test" has neither after nor before',
            'step "plan" is required and cannot be disabled',
            'disabled step "scan" is read by "report"',
        ),
        "A template and the files that extend it are checked as one workflow.",
    ),
    Rule(
        34,
        "inputs",
        ('input "task" has no value', 'input "n" must be int'),
        "Values are checked before the run starts, defaults whenever the file is loaded.",
    ),
    Rule(
        35,
        "children",
        (
            "flow.yaml contains itself",
            'with: "x" is not an input of child.yaml',
            'role "planner" has no parameter "tdd"',
        ),
        "Only parameters that the workflow or role declares can be passed.",
    ),
    Rule(
        36,
        "gates",
        ('gate "test" is not defined', 'a gate cannot be "wait"'),
        "A gate that does not exist would let everything pass.",
    ),
    Rule(
        37,
        "team",
        ('"qa" asks "architekt", which is not in the team',),
        "The file defines which members a worker may ask.",
    ),
    Rule(
        38,
        "build",
        ("component backend.api needs backend.db, which does not exist", "cycle: a -> b -> a"),
        "A component starts after the components it needs, so they must have an order.",
    ),
    Rule(
        39,
        "sandbox",
        ("claude with auto-approval needs at least bubblewrap; available: limits",),
        "Only a person may choose a weaker sandbox. A workflow may tighten the settings of the user or the project, but not "
        "loosen them.",
    ),
    Rule(
        40,
        "unhandled rejection",
        ('a rejection by "review" ends the run; route it with on: {rejected: ...}',),
        "A reviewer that rejects usually wants another round.",
        warning=True,
    ),
    Rule(
        41,
        "independent review",
        ('"review" uses the same agent as "implement", whose work it judges',),
        "An agent that reviews its own work misses the same things twice.",
        warning=True,
    ),
    Rule(
        42,
        "unknown price",
        ('usd cannot be enforced for "local": its price is unknown',),
        "A limit in dollars applies only to calls with a known price.",
        warning=True,
    ),
    Rule(
        43,
        "effect",
        ('"runs_dir" of logging has no effect: runs are in .podium/runs',),
        "A key of another format that changes nothing would otherwise be relied on; `podium run` prints these warnings too.",
        warning=True,
    ),
    Rule(
        44,
        "lost work",
        (
            'the work of "fix" is lost when it leads back to "check", which starts from its needs',
            'the work of "docs" is dropped when "test" leads back to "build", from where control may not come to it again',
        ),
        "In a sequence a step that passed keeps its work wherever it leads, and a failure that leads back rewinds to its "
        "target. What a step that passed had done should not disappear unnoticed.",
        warning=True,
    ),
    Rule(
        45,
        "conditions of a route",
        (
            'on.passed of "classify": the last entry has a when, so it may be that none applies',
            'on.passed of "classify": entries after one without when are never used',
        ),
        "A list in `on` must choose one target for every value; one that compares a value with all of its choices does.",
    ),
    Rule(
        46,
        "branches",
        ('on.passed of "classify": the branch of "bug" runs into "feature", another branch of the list',),
        "A step continues with the one below it, so a branch would also do the work of the next one.",
    ),
    Rule(
        47,
        "triggers",
        (
            'trigger "nightly" has no budget for a day',
            'trigger "nightly" watches cron and file',
            'trigger "opened" gives no value for input "report"',
        ),
        "Nobody is there when a trigger starts a run, so everything it needs and the most it may cost are in the file.",
    ),
    Rule(
        48,
        "series",
        (
            '"again" continues as a new run inside "block"',
            'with: "cursor" is not an input of this workflow',
            "nothing ends this series: each run has its limits anew, and there is no max, no wait and no question",
        ),
        "Where a run continues as a new one nothing else may be going on, and what the next run knows are its inputs. "
        "That nothing ends a series is a warning.",
    ),
)
