"""Random texts for tools/fuzz.py: by a grammar, and by breaking what the grammar made."""

from __future__ import annotations

import random
from typing import Any, Final

from podium.core.expressions.functions import ARITY

NAMES: Final = (
    "steps inputs vars run env with loop item member feedback work change canary long wide deep".split()
)
FIELDS: Final = "plan output title files text paths a b class import x0".split()
SIGNS: Final = [*"== != < <= > >= + - * / % in and or".split(), "not in"]
STRINGS: Final = [
    "''",
    "'a'",
    '"b c"',
    "r'\\d+'",
    "'[1, {\"a\": null}]'",
    "'(a|b)*c'",
    "'a/**'",
    "'1e3'",
    "'ä\\n'",
]
ATTACKS: Final = [
    "__class__",
    "().__class__.__bases__[0]",
    "canary.__dict__",
    "canary['__class__']",
    "''.join(['a'])",
    "open('/etc/passwd')",
    "__import__('os')",
    "(lambda: 1)()",
    "[x for x in wide]",
    "9**9**9",
    "'a' * 1000000000",
    "f'{canary}'",
    "{{ canary }}",
    "exec",
    "a := 1",
    "*canary",
    "{**canary}",
    "range(10000000000)",
    "json('[' * 9)",
    "steps.plan.output.",
    "\x00",
    "\ud800",
    "￼ａ",
]
ATOMS: Final = ["a", "b", "[ab]", "[^b]", ".", r"\w", r"\d", r"\s", "ab", "(a)", r"\b", "$", "^", " ", "é"]
REFUSED: Final = [r"(a)\1", "(?=a)", "(?<!a)", "a++", "(?>a)", "(?i:a)", "[[a]", "a{99999999999}", "("]
REPEATS: Final = ["?", "{0,3}", "{2,5}", "{1,50}", "{3}", "{,9}"]
ENDLESS: Final = ["*", "+", "*?", "+?", "{2,}"]
YAML: Final = [
    "podium: 1\n",
    "steps:\n",
    '  plan: {role: planner, prompt: "x"}\n',
    "  - [a, b]\n",
    "on: {failed: implement}\n",
    "a: |\n  text\n  more\n",
    "'k': \"v\"\n",
    "n: 1.10\n",
    "---\n",
    "&a *b !c\n",
]
PROMPT: Final = [
    "{{ canary.a }}",
    "{{ inputs | json }}",
    "{{ steps.plan.output.title | default('x') | fence }}",
    "{% for x in wide %}{{ x }}{{ loop.index }}{% endfor %}",
    "{% if inputs.a is defined and inputs.a > 1 %}a{% else %}b{% endif %}",
    "{% set y = [item, item] | join %}{{ y }}",
    "{% filter upper %}text{% endfilter %}",
    "{{ canary | map(attribute='__class__') }}",
    "{{ range(9999) | length }}",
    "plain\n",
]
LETTERS: Final = "ab(){}[]'\".,:|&!=<>+-*/%\\ \n\t_019$#?é\x00"


def expression(rng: random.Random, depth: int = 0) -> str:
    kind = rng.randrange(12 if depth < 5 else 4)
    match kind:
        case 0:
            return rng.choice(
                ["1", "0", "2.5", "-3", "9223372036854775807", "true", "false", "null", "1e308"]
            )
        case 1:
            return rng.choice(STRINGS)
        case 2 | 3:
            return rng.choice(NAMES) + "".join(_suffix(rng) for _ in range(rng.randrange(4)))
        case 4:
            return f"({expression(rng, depth + 1)})"
        case 5:
            return f"not {expression(rng, depth + 1)}"
        case 6:
            inner = ", ".join(expression(rng, depth + 1) for _ in range(rng.randrange(4)))
            return f"[{inner}]"
        case 7:
            test, then, other = (expression(rng, depth + 1) for _ in range(3))
            return f"{then} if {test} else {other}"
        case 8 | 9:
            return _call(rng, depth)
        case _:
            return f"{expression(rng, depth + 1)} {rng.choice(SIGNS)} {expression(rng, depth + 1)}"


def _suffix(rng: random.Random) -> str:
    return rng.choice([f".{rng.choice(FIELDS)}", f"['{rng.choice(FIELDS)}']", f"[{rng.randrange(-2, 3)}]"])


def _call(rng: random.Random, depth: int) -> str:
    name = rng.choice(sorted(ARITY))
    least, most = ARITY[name]
    count = rng.randint(least, 3 if most is None else most)
    return f"{name}({', '.join(expression(rng, depth + 1) for _ in range(count))})"


def value(rng: random.Random) -> str:
    pieces = [
        rng.choice(["text ", "$", "$$", "}}", "'", f"${{{{ {expression(rng, 3)} }}}}"]) for _ in range(3)
    ]
    return "".join(pieces)


def pattern(rng: random.Random, depth: int = 0, inside: bool = False) -> str:
    """`inside` an endless repeat another one is refused, so it is tried only now and then."""
    parts = []
    for _ in range(rng.randint(1, 4 - depth)):
        endless = rng.random() < (0.03 if inside else 0.3)
        repeat = rng.choice(ENDLESS) if endless else rng.choice(["", "", *REPEATS])
        parts.append(_part(rng, depth, inside or endless) + repeat)
    prefix = rng.choice(["", "", "", "^", "(?i)", "(?s)", "(?m)"]) if depth == 0 else ""
    return prefix + "".join(parts)


def _part(rng: random.Random, depth: int, inside: bool) -> str:
    kind = rng.random()
    if kind < 0.02:
        return rng.choice(REFUSED)
    if kind < 0.2 and depth < 3:
        return f"(?:{pattern(rng, depth + 1, inside)})"
    if kind < 0.35 and depth < 3:
        return f"({pattern(rng, depth + 1, inside)}|{pattern(rng, depth + 1, inside)})"
    return rng.choice(ATOMS)


def subject(rng: random.Random) -> str:
    """Text that makes patterns work hard: long runs of few letters."""
    size = rng.choice([0, 10, 100, 1000, 10_000, 100_000, 300_000])
    unit = rng.choice(["a", "ab", "aab", " ", "1", "a\n", "ab 1", "".join(rng.choices("ab 1\n", k=50))])
    return (unit * (size // len(unit) + 1))[:size] + rng.choice(["", "x", "!"])


def glob(rng: random.Random) -> str:
    return "/".join(
        rng.choice(["a", "b", "*", "**", "a*", "*b", "a**b", "?", "***"]) for _ in range(rng.randint(1, 6))
    )


def prompt(rng: random.Random) -> str:
    return "".join(rng.choice(PROMPT) for _ in range(rng.randint(1, 6)))


def yaml(rng: random.Random) -> str:
    return "".join(rng.choice(YAML) for _ in range(rng.randint(1, 6)))


def broken(rng: random.Random, text: str) -> str:
    """The text with a few signs put in, taken out, doubled, or replaced by an attack."""
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        end = min(len(text), at + rng.randrange(4))
        put = rng.choice([rng.choice(LETTERS), "", text[at:end] * 2, rng.choice(ATTACKS)])
        text = text[:at] + put + text[end:]
    return text * rng.choice([1, 1, 1, 1, 20])


def json_value(rng: random.Random, depth: int = 0) -> Any:
    kind = rng.randrange(8 if depth < 3 else 6)
    match kind:
        case 0:
            return None
        case 1:
            return rng.random() < 0.5
        case 2:
            return rng.choice([0, 1, -1, 2**62, rng.randrange(100)])
        case 3:
            return rng.choice([0.5, -1e300, 1e-300, rng.random()])
        case 4 | 5:
            return rng.choice(
                ["", "a", "passed", "src/a.py", "{{ x }}", "${{ x }}", "ä" * rng.randrange(50), "1"]
            )
        case 6:
            return [json_value(rng, depth + 1) for _ in range(rng.randrange(4))]
        case _:
            return {rng.choice(FIELDS): json_value(rng, depth + 1) for _ in range(rng.randrange(4))}
