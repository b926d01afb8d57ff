"""Files of the gates format as its users would write them, with what their agents do and how their runs must end."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GatesFile:
    text: str
    cast: str
    steps: tuple[str, ...]
    """The steps and gates of the file in the order they ended; with the outcome if it is not passed."""
    code: int = 0
    answers: tuple[str, ...] = ()
    """What a person answers, in order: an action."""
    lands: tuple[str, ...] = ()
    """Files that are on the branch afterwards."""


def reviews(*rejected: str) -> str:
    """Reviewers reject at these addresses and approve everywhere else."""
    return "".join(
        f'- {{match: {{step: "{address}"}}, verdict: {{decision: reject, score: 2, summary: Not yet.}}}}\n'
        for address in rejected
    )


def writes(*pairs: str) -> str:
    """`step=path`: the step writes a file, with a new line in each attempt and visit."""
    lines = []
    for pair in pairs:
        step, _, path = pair.partition("=")
        for visit in (3, 2, 1):
            for attempt in (3, 2, 1):
                content = f"{step} {visit}.{attempt}"
                lines.append(
                    f"- {{match: {{step: {step}, visit: {visit}, attempt: {attempt}}}, "
                    f'write: {{"{path}": "{content}\\n"}}}}\n'
                )
    return "".join(lines)


def step(name: str, output: str = "", more: str = "", kind: str = "implementor") -> str:
    files = f", outputs: [{output}]" if output else ""
    return f"  - {{id: {name}, agent: {{type: {kind}, launch: headless}}{files}{more}}}\n"


def flow(name: str, steps: str, gates: str = "") -> str:
    return f"workflow: {{id: {name}, name: The {name} task}}\nsteps:\n{steps}" + (
        f"gates:\n{gates}" if gates else ""
    )


def gate(name: str, rest: str, level: str = "auto") -> str:
    agent = ", agent_type: reviewer" if level != "human" else ""
    return f"  - {{id: {name}, reviewer: {{level: {level}{agent}}}, {rest}}}\n"


TO_END = "on_pass: {next_step: DONE}"

FILES: dict[str, GatesFile] = {
    "three steps without gates": GatesFile(
        flow("plain", step("A", "a.txt") + step("B", "b.txt") + step("C", "c.txt")),
        writes("a=a.txt", "b=b.txt", "c=c.txt"),
        ("a", "b", "c"),
    ),
    "one gate that passes": GatesFile(
        flow("one", step("A", "a.txt", ", gate: G"), gate("G", TO_END)),
        writes("a=a.txt"),
        ("a", "done"),
        lands=("a.txt",),
    ),
    "a gate that fails once": GatesFile(
        flow(
            "again",
            step("A", "a.txt", ", gate: G"),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 3"),
        ),
        reviews("a#1/g/reviewer") + writes("a=a.txt"),
        ("a", "done"),
        lands=("a.txt",),
    ),
    "a gate that leads two steps back": GatesFile(
        flow(
            "back",
            step("A", "a.txt") + step("B", "b.txt") + step("C", "c.txt", ", gate: G"),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 3"),
        ),
        reviews("g/reviewer").replace('step: "g/reviewer"', "step: g/reviewer, visit: 1")
        + writes("a=a.txt", "b=b.txt", "c=c.txt"),
        ("a", "b", "c", "g:rejected", "a", "b", "c", "g", "done"),
        lands=("a.txt", "b.txt", "c.txt"),
    ),
    "two loops, each with a failure": GatesFile(
        flow(
            "loops",
            step("A", "a.txt", ", gate: G1") + step("B", "b.txt", ", gate: G2"),
            gate("G1", "on_pass: {next_step: B}, on_fail: {next_step: A}, max_retries: 2")
            + gate("G2", f"{TO_END}, on_fail: {{next_step: B}}, max_retries: 2"),
        ),
        reviews("a#1/g1/reviewer", "b#1/g2/reviewer") + writes("a=a.txt", "b=b.txt"),
        ("a", "b", "done"),
        lands=("a.txt", "b.txt"),
    ),
    "a person signs off": GatesFile(
        flow("signed", step("A", "a.txt", ", gate: G"), gate("G", TO_END, "human")),
        writes("a=a.txt"),
        ("a", "done"),
        answers=("approve",),
        lands=("a.txt",),
    ),
    "a person rejects first": GatesFile(
        flow(
            "unsigned",
            step("A", "a.txt", ", gate: G"),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 3", "human"),
        ),
        writes("a=a.txt"),
        ("a", "done"),
        answers=("reject", "approve"),
        lands=("a.txt",),
    ),
    "a failed gate aborts": GatesFile(
        flow(
            "abort", step("A", "a.txt", ", gate: G"), gate("G", f"{TO_END}, on_fail: {{next_step: ABORTED}}")
        ),
        reviews("g/reviewer") + writes("a=a.txt"),
        ("a", "g:rejected"),
        code=1,
    ),
    "a criterion that is a command": GatesFile(
        flow(
            "proved",
            step("A", "a.txt", ', success_criterion: "grep -q 1.2 a.txt exits 0", gate: G'),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 3"),
        ),
        writes("a=a.txt"),
        ("a", "done"),
        lands=("a.txt",),
    ),
    "a criterion that is a file": GatesFile(
        flow(
            "filed",
            step("A", "", ", success_criterion: file a.txt exists and is non-empty") + step("B", "b.txt"),
        ),
        writes("a=a.txt", "b=b.txt"),
        ("a", "b"),
    ),
    "a sentinel file": GatesFile(
        flow(
            "sentinel",
            step(
                "A", "a.txt", ", signal: {type: sentinel_file, value: .workflow/signals/A-done.json}, gate: G"
            ),
            gate("G", TO_END),
        ),
        '- {match: {step: a}, write: {a.txt: "a", .workflow/signals/A-done.json: "{}"}}\n',
        ("a", "done"),
        lands=("a.txt",),
    ),
    "a worktree": GatesFile(
        flow(
            "tree",
            "  - {id: A, agent: {type: implementor, launch: headless, worktree: app/}, outputs: [a.txt], gate: G}\n",
            gate("G", TO_END),
        ),
        writes("a=app/a.txt"),
        ("a", "done"),
        lands=("app/a.txt",),
    ),
    "a worktree that nobody has made yet": GatesFile(
        flow(
            "new_tree",
            step("A", "docs/a.md")
            + "  - {id: B, agent: {type: implementor, launch: headless, worktree: svc/}, inputs: [docs/a.md],\n"
            '     outputs: [b.txt], success_criterion: "all are happy and `grep -q b b.txt` exits 0", gate: G}\n',
            gate("G", TO_END),
        ),
        writes("a=docs/a.md", "b=svc/b.txt"),
        ("a", "b", "done"),
        lands=("docs/a.md", "svc/b.txt"),
    ),
    "a gate that notifies": GatesFile(
        flow(
            "told",
            step("A", "a.txt", ", gate: G"),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}", "notify"),
        ),
        writes("a=a.txt"),
        ("a", "done"),
        lands=("a.txt",),
    ),
    "one gate for two steps": GatesFile(
        flow(
            "shared",
            step("A", "a.txt", ", gate: G") + step("B", "b.txt", ", gate: G"),
            gate("G", "max_retries: 2"),
        ),
        reviews("a#1/g/reviewer") + writes("a=a.txt", "b=b.txt"),
        ("a", "b"),
    ),
    "a gate that skips a step": GatesFile(
        flow(
            "skip",
            step("A", "a.txt", ", gate: G") + step("B", "b.txt") + step("C", "c.txt"),
            gate("G", "on_pass: {next_step: C}, on_fail: {next_step: B}"),
        ),
        writes("a=a.txt", "b=b.txt", "c=c.txt"),
        ("a", "g", "c"),
    ),
    "retries that are used up": GatesFile(
        flow(
            "used",
            step("A", "a.txt", ", gate: G"),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 2"),
        ),
        reviews("a#1/g/reviewer", "a#2/g/reviewer") + writes("a=a.txt"),
        ("a", "done"),
        answers=("accept",),
        lands=("a.txt",),
    ),
    "names that are not native": GatesFile(
        flow(
            "Odd-Names",
            step('"Step One"', "a.txt", ', name: "write-It!"') + step("done", "b.txt", ', gate: "Gate 1"'),
            gate('"Gate 1"', TO_END),
        ),
        writes("write_it=a.txt", "done=b.txt"),
        ("write_it", "done", "done_2"),
        lands=("a.txt", "b.txt"),
    ),
    "a subagent": GatesFile(
        flow(
            "sub",
            "  - {id: A, agent: {type: test-writer, launch: subagent}, outputs: [a.txt], gate: G}\n",
            gate("G", TO_END),
        ),
        '- {match: {step: a, prompt: "Start one subagent"}, write: {a.txt: "a"}}\n',
        ("a", "done"),
        lands=("a.txt",),
    ),
}
