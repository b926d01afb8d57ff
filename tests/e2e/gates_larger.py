"""Larger files of the gates format, for `test_gates_files`."""

from __future__ import annotations

from tests.e2e.gates_files import TO_END, GatesFile, flow, gate, reviews, step, writes

ONCE = "- {{match: {{step: {step}, visit: 1}}, verdict: {{decision: reject, score: 2, summary: Not yet.}}}}\n"


def once(*steps: str) -> str:
    return "".join(ONCE.format(step=name) for name in steps)


LARGER: dict[str, GatesFile] = {
    "four steps and three gates that lead back differently": GatesFile(
        flow(
            "four",
            step("P-1", "plan.md", ", gate: PG")
            + step("T-1", "test_a.py", ", gate: TG", "test-writer")
            + step("I-1", "a.py")
            + step("D-1", "a.md", ", gate: DG"),
            gate("PG", "on_pass: {next_step: T-1}, on_fail: {next_step: P-1}, max_retries: 2")
            + gate("TG", "on_pass: {next_step: I-1}, on_fail: {next_step: P-1}, max_retries: 2")
            + gate("DG", f"{TO_END}, on_fail: {{next_step: I-1}}, max_retries: 2"),
        ),
        reviews("p_1#1/pg/reviewer") + once("tg/reviewer", "dg/reviewer")
        + writes("p_1=plan.md", "t_1=test_a.py", "i_1=a.py", "d_1=a.md"),
        ("p_1", "t_1", "tg:rejected", "p_1", "t_1", "tg", "i_1", "d_1", "dg:rejected", "i_1", "d_1", "dg", "done"),
        lands=("plan.md", "test_a.py", "a.py", "a.md"),
    ),
    "two people's gates, one of them leads two steps back": GatesFile(
        flow(
            "people",
            step("A", "a.txt", ", gate: G1") + step("B", "b.txt", ", gate: G2"),
            gate("G1", "on_pass: {next_step: B}, on_fail: {next_step: A}, max_retries: 3", "human")
            + gate("G2", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 3", "human"),
        ),
        writes("a=a.txt", "b=b.txt"),
        ("a", "b", "g2:rejected", "a", "b", "g2", "done"),
        answers=("reject", "approve", "reject", "approve", "approve"),
        lands=("a.txt", "b.txt"),
    ),
    "steps that signal by their exit": GatesFile(
        flow(
            "exits",
            step("A", "a.txt", ", signal: {type: stdout_exit}, gate: G") + step("B", "b.txt", ", signal: {type: stdout_exit}"),
            gate("G", "on_pass: {next_step: B}, on_fail: {next_step: A}, max_retries: 1"),
        ),
        writes("a=a.txt", "b=b.txt"),
        ("a", "b"),
    ),
    "a criterion of three parts in a worktree": GatesFile(
        flow(
            "parts",
            '  - {id: A, agent: {type: implementor, launch: headless, worktree: app/}, outputs: [a.txt, b.txt], gate: G,\n'
            '     success_criterion: "file a.txt exists and is non-empty, and grep -q 2 a.txt exits 0, and test -f b.txt && test -f ../app/b.txt exits 0"}\n',
            gate("G", TO_END),
        ),
        '- {match: {step: a, attempt: 1}, write: {app/a.txt: "1", app/b.txt: x}}\n- {match: {step: a, attempt: 2}, write: {app/a.txt: "2", app/b.txt: x}}\n',
        ("a", "done"),
        lands=("app/a.txt", "app/b.txt"),
    ),
    "a failure that skips ahead to the end": GatesFile(
        flow(
            "ahead",
            step("A", "a.txt", ", gate: G") + step("B", "b.txt") + step("C", "c.txt"),
            gate("G", "on_pass: {next_step: B}, on_fail: {next_step: C}"),
        ),
        once("g/reviewer") + writes("a=a.txt", "b=b.txt", "c=c.txt"),
        ("a", "g:rejected", "c"),
    ),
    "a person ends it after the last retry": GatesFile(
        flow("ended", step("A", "a.txt", ", gate: G"), gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 1")),
        reviews("a#1/g/reviewer") + writes("a=a.txt"),
        ("a:failed",),
        code=1,
        answers=("fail",),
    ),
    "a person grants one more try after the last retry": GatesFile(
        flow(
            "granted",
            step("A", "a.txt") + step("B", "b.txt", ", gate: G"),
            gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 1"),
        ),
        once("g/reviewer") + writes("a=a.txt", "b=b.txt"),
        ("a", "b", "g:rejected", "a", "b", "g", "done"),
        answers=("retry",),
        lands=("a.txt", "b.txt"),
    ),
    "a gate in between that only notifies": GatesFile(
        flow(
            "between",
            step("A", "a.txt", ", gate: G1") + step("B", "b.txt", ", gate: G2") + step("C", "c.txt", ", gate: G3"),
            gate("G1", "on_pass: {next_step: B}, on_fail: {next_step: A}", "notify")
            + gate("G2", "on_pass: {next_step: C}, on_fail: {next_step: A}, max_retries: 2", "notify")
            + gate("G3", f"{TO_END}, on_fail: {{next_step: C}}, max_retries: 2"),
        ),
        once("g2/reviewer") + reviews("c#1/g3/reviewer") + writes("a=a.txt", "b=b.txt", "c=c.txt"),
        ("a", "b", "g2:rejected", "a", "b", "g2", "c", "done"),
        lands=("a.txt", "b.txt", "c.txt"),
    ),
    "steps that are listed in another order": GatesFile(
        flow(
            "order",
            step("A", "a.txt", ", gate: GA") + step("Z", "z.txt", ", gate: GZ") + step("B", "b.txt", ", gate: GB"),
            gate("GA", "on_pass: {next_step: B}, on_fail: {next_step: A}")
            + gate("GZ", f"{TO_END}, on_fail: {{next_step: B}}, max_retries: 2")
            + gate("GB", "on_pass: {next_step: Z}, on_fail: {next_step: A}, max_retries: 2"),
        ),
        writes("a=a.txt", "b=b.txt", "z=z.txt"),
        ("a", "ga", "b", "gb", "z", "gz", "done"),
        lands=("a.txt", "b.txt", "z.txt"),
    ),
    "an agent without its output": GatesFile(
        flow("lacking", step("A", "a.txt", ", gate: G"), gate("G", f"{TO_END}, on_fail: {{next_step: A}}, max_retries: 2")),
        '- {match: {step: a, attempt: 1}, write: {other.txt: x}}\n- {match: {step: a, attempt: 2}, write: {a.txt: x}}\n',
        ("a", "done"),
        lands=("a.txt",),
    ),
}  # fmt: skip
