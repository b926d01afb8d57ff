"""The table of all validation rules, and the page of the reference that is made of it."""

from __future__ import annotations

from typing import Final, NamedTuple


class Rule(NamedTuple):
    number: int
    title: str
    messages: tuple[str, ...]
    why: str
    warning: bool = False


HEAD: Final = """# Validation

Everything below is checked before anything runs, all of it at once, as `file:line:col: message`, with a hint where
one helps. A file with a problem ends with exit code 2, one with a path that leaves the project (rule 24) with 3.
Warnings do not keep a workflow from running.
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
        "What a reader sees is what the loader sees: nothing is overwritten, pulled in from elsewhere or retyped.",
    ),
    Rule(
        2,
        "scalar types",
        ('"version" must be text; write "1.10"',),
        "A number in place of a text has often lost something already, such as the zero of 1.10.",
    ),
    Rule(
        3,
        "known keys",
        ('step "fix" has an unknown key "promt"',),
        "A key that is not understood is not obeyed.",
    ),
    Rule(
        4,
        "one verb",
        ('step "fix" has two verbs, "run" and "role"', 'step "fix" has no verb'),
        "A step does one thing and ends in one of the outcomes of that thing.",
    ),
    Rule(
        5,
        "key fits verb",
        ('"junit" belongs to "run", not to "human"', '"parallel" needs for_each, steps or build'),
        "A key that its verb does not read would be a promise that nobody keeps.",
    ),
    Rule(
        6,
        "names",
        ('"cross-audit" is not a name; write "cross_audit"', '"test" already names a step around it'),
        "Names stand in expressions, in paths and on the command line, and must mean one thing in each.",
    ),
    Rule(
        7,
        "targets",
        ('on.failed of "test": step "implemnt" does not exist in this block', "there is no loop to break"),
        "Control moves inside a block; to leave it, the block itself ends and is routed in turn.",
    ),
    Rule(
        8,
        "possible outcome",
        ('"check" never ends "rejected"', '"faild" is not an outcome'),
        "A route for what cannot happen is a route that was meant for something else.",
    ),
    Rule(
        9, "reachable", ('step "report" cannot be reached',), "Every way passes it by, so it would never run."
    ),
    Rule(
        10,
        "block kind",
        ('"lint" has no "needs" but "test" has; write needs: [] to start it at once',),
        "Adding one needs must not silently set all other steps running.",
    ),
    Rule(
        11,
        "graphs",
        ('on.failed of "b": "c" does not come before it', "needs: a -> b -> a is a cycle"),
        "In a graph only what comes before can be done again, and something must come first.",
    ),
    Rule(
        12,
        "order of reading",
        ('"plan" reads steps.review, which runs later; what comes back is "feedback"',),
        "A step reads only what is finished when it starts, so that nothing stale is ever read.",
    ),
    Rule(
        13,
        "needs cover reads",
        ('"b" reads steps.a but does not need it',),
        "In a graph the order is what needs say; a value that happens to be there depends on luck.",
    ),
    Rule(
        14,
        "absent values",
        (
            "steps.notes may not have run; use default(...)",
            "vars.best may not have been set; use default(...)",
        ),
        "A step with when, one that a route passes by, or an optional field may give nothing.",
    ),
    Rule(
        15,
        "variables",
        ("nothing sets vars.best", 'inputs has no "taks"', 'there is no step "plam"'),
        "A name that nobody declares is a typing error nearly always.",
    ),
    Rule(
        16,
        "fields",
        ('Plan has no field "titel"', "there is no schema Plam"),
        "What a step gives is known from its output, so a wrong field is known before the money is spent.",
    ),
    Rule(
        17,
        "expressions",
        ('calls to "open" are not allowed', "cannot compare text with a number"),
        "Types never convert, and an expression can do nothing but pick and compare values.",
    ),
    Rule(
        18,
        "brackets",
        (
            '"{{ }}" in a value; write "${{ }}"',
            '"${{ }}" in a prompt; write "{{ }}"',
            '"when" is an expression; remove the braces',
        ),
        "Values, texts for readers and expressions are three things; the brackets say which one is meant.",
    ),
    Rule(
        19,
        "scripts",
        ("values may not be inserted into a script; pass them by env",),
        "A value inside a script is a hole through which a model can run commands.",
    ),
    Rule(
        20,
        "prompts",
        ("prompts/plan.md does not exist", "prompt reads steps.x.output, which nobody declared"),
        "A prompt with a hole in it costs as much as a whole one.",
    ),
    Rule(
        21,
        "roles and agents",
        ('no role or agent "reviwer"', 'role "trader" extends itself', 'no retry preset "agressive"'),
        "Whoever is named must exist; who only the run will name is looked up then.",
    ),
    Rule(
        22,
        "capability",
        (
            'codex cannot enforce tools: [read]; role "auditor" demands it',
            '"fix" changes files; continuity is for roles that do not',
            'agents.mine.effort is "turbo", not one of "minimal", "low", "medium", "high", "xhigh"',
        ),
        "A restriction that an agent cannot enforce is no restriction, and a setting that it cannot use has no effect.",
    ),
    Rule(
        23,
        "loops end",
        ("repeat needs max", "repeat needs one of until, while"),
        "Every run ends, whatever the models do.",
    ),
    Rule(
        24,
        "paths",
        ('"../x" leaves the project',),
        "Nothing outside of the project is read or written (exit 3).",
    ),
    Rule(
        25,
        "secrets",
        ('secret "TOKEN" is not declared at the top',),
        "One look at the top of a file tells what it can reach.",
    ),
    Rule(
        26,
        "judging itself",
        ('"review" judges "approve", which produces nothing',),
        "A verdict belongs to work; without work it would approve whatever comes.",
    ),
    Rule(
        27,
        "phrase",
        ("phrase may not approve a step that changes files",),
        "An exact last line says something about a text and nothing about a tree.",
    ),
    Rule(
        28,
        "claims",
        ('"a" and "b" run at once and touch the same files; they will wait for each other',),
        "They are kept apart by their files, so they are not as parallel as they look.",
        warning=True,
    ),
    Rule(
        29,
        "widths",
        (
            "pass: 4 of 3 members",
            "approvals: 3 of 1 who may answer",
            "for_each over 240 literals exceeds limits.members",
        ),
        "A rule that cannot be met and a fan-out that may not start fail only after the work is done.",
    ),
    Rule(
        30,
        "strict",
        ('strict: "test" does not route "timeout"',),
        "With strict a file says where every outcome leads; only skipped goes on by itself.",
    ),
    Rule(
        31,
        "join",
        (
            "join: best needs a list of agents",
            '"implement" has 3 workers that change files; say join: best, queue or discard',
        ),
        "Several trees become one only in a way that somebody chose.",
    ),
    Rule(
        32,
        "policy",
        (
            'policy "risk" must end with a rule without when',
            'no level or policy "riks"',
            'policy "risk" looks at a change, and "approve" judges none',
        ),
        "A policy has an answer for every change, and a change to look at.",
    ),
    Rule(
        33,
        "templates",
        (
            'new step "pen_test" has neither after nor before',
            'step "plan" is required and cannot be disabled',
            'disabled step "scan" is read by "report"',
        ),
        "A template and what was made of it are one workflow, and are checked as one.",
    ),
    Rule(
        34,
        "inputs",
        ('input "task" has no value', 'input "n" must be int'),
        "Given values are checked before the run exists, defaults whenever the file is loaded.",
    ),
    Rule(
        35,
        "children",
        (
            "flow.yaml contains itself",
            'with: "x" is not an input of child.yaml',
            'role "planner" has no parameter "tdd"',
        ),
        "What is handed down must be wanted below.",
    ),
    Rule(
        36,
        "gates",
        ('gate "test" is not defined', 'a gate cannot be "wait"'),
        "A gate that is not there lets everything through.",
    ),
    Rule(
        37,
        "team",
        ('"qa" asks "architekt", who is not in the team',),
        "Who may be asked is fixed before the talking starts.",
    ),
    Rule(
        38,
        "build",
        ("component backend.api needs backend.db, which does not exist", "cycle: a -> b -> a"),
        "Components start when what they need has passed, so there must be an order.",
    ),
    Rule(
        39,
        "sandbox",
        ("claude with auto-approval needs at least bubblewrap; available: limits",),
        "Weaker walls only if a person typed them. A workflow may tighten what the user or the project has set, "
        "never loosen it.",
    ),
    Rule(
        40,
        "silent dead end",
        ('rejection of "review" ends the run; route it with on: {rejected: ...}',),
        "A reviewer that says no usually wants another round.",
        warning=True,
    ),
    Rule(
        41,
        "same mind",
        ('"review" is done by the agent that wrote "implement"',),
        "An agent overlooks in review what it overlooked in writing.",
        warning=True,
    ),
    Rule(
        42,
        "no ceiling",
        ('usd cannot be enforced for "local": its price is unknown',),
        "A limit in dollars holds only for calls that have a price.",
        warning=True,
    ),
)
