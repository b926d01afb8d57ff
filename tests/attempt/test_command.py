"""Commands on a checkout: what passes, what fails and why, what is kept, and what is dropped."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from podium.core.events import ApprovalAsked
from podium.redaction.mask import Mask
from tests.attempt.runs import Bench, bench
from tests.git.kit import Project, git


def flow(project: Project | Path, folder: Path, step: str, rest: str = "") -> Bench:
    return bench(project, folder, f"{rest}\nsteps:\n  it: {step}\n")


@pytest.mark.req("R109")
def test_a_command_that_ends_with_zero_passes_with_its_output(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, "{run: [cat, data/in.txt]}").play()

    assert played.ending("it").outcome == "passed"
    result = played.result("it")
    assert result["text"] == "one\ntwo\n"
    assert result["output"] == "one\ntwo"
    assert result["exit_code"] == 0
    assert played.answer("it").tree == project.tree()
    assert len(played.answer("it").digest) == 16


def test_a_command_that_fails_says_why_for_whoever_tries_again(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, '{run: [sh, -c, "echo out; echo bad >&2; exit 3"]}').play()

    answer = played.answer("it")
    assert (answer.kind, played.ending("it").outcome) == ("failed", "failed")
    assert played.result("it")["exit_code"] == 3
    assert "ended with 3" in played.result("it")["message"]
    assert "out" in played.result("it")["message"] and "bad" in played.result("it")["message"]


def test_a_program_that_is_not_there_is_an_error_of_the_world(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, "{run: [no_such_program]}").play()

    assert played.answer("it").kind == "error"
    assert played.answer("it").reason == "not_started"
    assert played.ending("it").outcome == "error"


def test_a_command_that_takes_too_long_is_stopped(project: Project, tmp_path: Path) -> None:
    """R141"""
    played = flow(project, tmp_path, '{run: [sleep, "60"], timeout: 1s}').play()

    assert played.answer("it").kind == "timeout"
    assert "sleep did not end within 1 s and was stopped" in str(played.answer("it").result)
    assert played.result("it")["exit_code"] == 124


@pytest.mark.req("R175", "C13")
def test_changes_are_dropped_unless_touches_keeps_them(project: Project, tmp_path: Path) -> None:
    dropped = flow(project, tmp_path, "{run: [cp, README.md, new.txt]}").play()
    kept = flow(project, tmp_path, '{run: [cp, README.md, new.txt], touches: ["new.txt"]}').play()

    assert dropped.ending("it").tree is None
    tree = kept.ending("it").tree
    assert tree is not None
    assert "new.txt" in project.files(tree)
    assert kept.result("it")["files"] == ["new.txt"]
    assert not (project.root / "new.txt").exists()


def test_what_is_kept_must_be_within_touches(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, '{run: [cp, README.md, other.txt], touches: ["new.txt"]}').play()

    assert (played.answer("it").kind, played.answer("it").reason) == ("failed", "touches")
    assert "other.txt" in played.result("it")["message"]


def test_a_script_gets_values_by_its_environment_only(project: Project, tmp_path: Path) -> None:
    step = '{run: {script: "set -eu\\necho $WHO $((1 + 1))\\n", shell: bash}, env: ["WHO=${{ inputs.who }}"]}'
    bench_ = flow(project, tmp_path, step, "inputs: {who: string}")

    assert bench_.play({"who": "$(id)"}).result("it")["output"] == "$(id) 2"


def test_only_what_was_declared_reaches_the_child(project: Project, tmp_path: Path) -> None:
    """R184, R185: a minimal environment, the secrets the step names, and none that it does not."""
    rest = "secrets: [MY_TOKEN, OTHER_TOKEN]"
    step = "{run: [env], secrets: [MY_TOKEN], env: [PASSED]}"
    bench_ = flow(project, tmp_path, step, rest).given(
        secrets={"MY_TOKEN": "s3cret-value-one", "OTHER_TOKEN": "s3cret-value-two"},
        mask=Mask({"MY_TOKEN": "s3cret-value-one", "OTHER_TOKEN": "s3cret-value-two"}),
        host_env={"PATH": os.environ["PATH"], "PASSED": "yes", "HIDDEN": "no"},
    )

    text = bench_.play().result("it")["text"]
    env = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)

    assert env["PASSED"] == "yes"
    assert "MY_TOKEN" in env and "s3cret" not in text
    assert "OTHER_TOKEN" not in env and "HIDDEN" not in env
    assert Path(env["HOME"]).is_relative_to(tmp_path / "work")
    assert Path(env["TMPDIR"]).is_relative_to(tmp_path / "work")


def test_a_secret_without_a_value_is_an_error_that_names_it(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, "{run: [env], secrets: [MY_TOKEN]}", "secrets: [MY_TOKEN]").play()

    assert (played.answer("it").kind, played.answer("it").reason) == ("error", "configuration")
    assert "MY_TOKEN" in played.result("it")["message"]


@pytest.mark.req("R183", "R143")
def test_a_folder_outside_the_project_is_a_path_violation(project: Project, tmp_path: Path) -> None:
    """The exit code of the run is 3, as for any path that leaves the project."""
    bench_ = flow(project, tmp_path, '{run: [ls], dir: "${{ inputs.where }}"}', "inputs: {where: string}")

    played = bench_.play({"where": "../.."})

    assert (played.answer("it").kind, played.answer("it").reason) == ("error", "path")
    assert played.ending("it").exit == 3


def test_a_command_runs_in_the_folder_it_names(project: Project, tmp_path: Path) -> None:
    assert flow(project, tmp_path, "{run: [ls], dir: data}").play().result("it")["output"] == "in.txt"


@pytest.mark.parametrize(
    ("stdin", "expected"),
    [
        ("data/in.txt", "one\ntwo"),
        ("[README.md, data/in.txt]", "hello\none\ntwo"),
        ('"${{ inputs.who }}"', "ann"),
        ('"${{ inputs.many }}"', '["a", "b"]'),
    ],
)
def test_standard_input_is_files_or_a_value(
    project: Project, tmp_path: Path, stdin: str, expected: str
) -> None:
    """R189"""
    rest = "inputs: {who: string, many: list}"
    bench_ = flow(project, tmp_path, f"{{run: [cat], stdin: {stdin}}}", rest)

    assert bench_.play({"who": "ann", "many": ["a", "b"]}).result("it")["output"] == expected


def test_without_standard_input_there_is_its_end_at_once(project: Project, tmp_path: Path) -> None:
    assert flow(project, tmp_path, "{run: [cat]}").play().result("it")["output"] == ""


@pytest.mark.parametrize(
    ("output", "printed", "expected"),
    [
        ("lines", "a\\nb\\n", ["a", "b"]),
        ("json", '{"a": [1]}', {"a": [1]}),
        ("{schema: {title: string}}", '{"title": "x"}', {"title": "x"}),
    ],
)
def test_the_output_is_what_the_contract_makes_of_it(
    project: Project, tmp_path: Path, output: str, printed: str, expected: object
) -> None:
    step = f"{{run: [printf, '{printed}'], output: {output}}}"

    assert flow(project, tmp_path, step).play().result("it")["output"] == expected


@pytest.mark.parametrize(("output", "printed"), [("json", "no json"), ("{schema: {n: int}}", '{"n": "one"}')])
def test_an_answer_that_breaks_the_contract_fails(
    project: Project, tmp_path: Path, output: str, printed: str
) -> None:
    """R111"""
    played = flow(project, tmp_path, f"{{run: [printf, '{printed}'], output: {output}}}").play()

    assert (played.answer("it").kind, played.answer("it").reason) == ("failed", "contract")


def test_files_that_the_contract_promises_must_be_in_the_tree(project: Project, tmp_path: Path) -> None:
    step = '{run: [cp, README.md, new.txt], touches: ["*.txt"], output: {files: ["%s"]}}'

    there = flow(project, tmp_path, step % "new.*").play()
    absent = flow(project, tmp_path, step % "other.*").play()

    assert there.ending("it").outcome == "passed"
    assert (absent.answer("it").kind, absent.answer("it").reason) == ("failed", "contract")


def test_of_a_long_failure_the_end_is_told(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, '{run: [sh, -c, "seq 20000; exit 1"]}').play()

    message = played.result("it")["message"]
    assert message.endswith("20000")
    assert len(message) < 7_000


@pytest.mark.req("R154", "R189")
def test_an_output_file_is_kept_as_an_artifact(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, "{run: [echo, hi], output: {file: notes/hi.txt}}").play()

    (kept,) = played.result("it")["artifacts"]
    assert kept["file"] == "notes/hi.txt"
    assert (project.root / ".podium" / "blobs" / kept["hash"]).read_text() == "hi\n"


def test_an_output_file_has_all_that_was_printed(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, '{run: [seq, "20000"], output: {file: numbers.txt}}').play()

    (kept,) = played.result("it")["artifacts"]
    lines = (project.root / ".podium" / "blobs" / kept["hash"]).read_text().splitlines()
    assert (len(lines), lines[-1]) == (20_000, "20000")
    assert "[truncated" in played.result("it")["text"]


def test_long_output_is_in_a_file_that_the_result_names(project: Project, tmp_path: Path) -> None:
    """R153: the record holds the first 8 KB and says where the rest is."""
    played = flow(project, tmp_path, '{run: [seq, "20000"]}').play()

    result = played.result("it")
    log = project.root / ".podium" / "runs" / "20260101-a" / result["log"]
    assert log.read_text().splitlines()[-1] == "20000"
    assert "[truncated: the first 8192 of" in result["text"]
    assert str(tmp_path) not in result["text"]


def test_expressions_may_ask_for_files_of_the_tree(project: Project, tmp_path: Path) -> None:
    step = """{run: [echo, "${{ exists('src/app.py') }}", "${{ exists('no') }}", "${{ glob('**/*.py') }}"]}"""

    assert flow(project, tmp_path, step).play().result("it")["output"] == "true false src/app.py"


def test_without_a_repository_a_command_works_in_the_project_itself(tmp_path: Path) -> None:
    root = tmp_path / "plain"
    root.mkdir()
    (root / "a.txt").write_text("a")

    played = flow(root, tmp_path, '{run: [cp, a.txt, b.txt], touches: ["b.txt"]}').play()

    assert played.ending("it").outcome == "passed"
    assert played.answer("it").tree is None
    assert (root / "b.txt").read_text() == "a"


def test_a_step_in_place_changes_the_project_and_the_head_alike(project: Project, tmp_path: Path) -> None:
    (project.root / "mine.txt").write_text("the user's own, not committed\n")
    text = """
    steps:
      it: {run: [cp, README.md, new.txt], touches: ["new.txt"], workspace: inplace}
      see: {run: [ls]}
    """
    played = bench(project, tmp_path, text).play()

    assert (project.root / "new.txt").exists()
    assert played.result("it")["files"] == ["new.txt"]
    assert "new.txt" in played.result("see")["output"]
    assert "mine.txt" not in played.result("see")["output"]


@pytest.mark.req("R175", "X9")
def test_failed_work_and_good_work_stay_on_the_refs_of_their_attempts(
    project: Project, tmp_path: Path
) -> None:
    flow(project, tmp_path, '{run: [cp, README.md, other.txt], touches: ["new.txt"]}').play()

    refs = git(project.root, "for-each-ref", "--format=%(refname) %(subject)", "refs/podium")
    assert refs == "refs/podium/20260101-a/it/1 it, attempt 1"
    names = git(project.root, "ls-tree", "-r", "--name-only", "refs/podium/20260101-a/it/1").splitlines()
    assert "other.txt" in names
    assert git(project.root, "rev-parse", "refs/podium/20260101-a/it/1^") == git(
        project.root, "rev-parse", "HEAD"
    )


def test_nothing_is_left_of_the_workspaces_but_what_can_be_used_again(
    project: Project, tmp_path: Path
) -> None:
    text = "steps:\n" + "".join(f"  s{n}: {{run: [ls]}}\n" for n in range(3))
    bench_ = bench(project, tmp_path, text)

    bench_.play()

    left = sorted(path.name[0] for path in (tmp_path / "work").iterdir())
    assert left == ["c", "w"], "one checkout and one home served all three"


@pytest.mark.req("R011", "R109", "R119", "R121", "X4")
def test_a_gate_judges_the_captured_tree_and_its_failure_is_feedback(
    project: Project, tmp_path: Path
) -> None:
    text = """
    roles: {w: {agent: claude, prompt: work}}
    steps:
      it:
        role: w
        touches: ["src/**"]
        gates: [{run: [grep, -q, "x = 3", src/app.py]}]
    """

    def edit(folder: Path, attempt: int) -> None:
        (folder / "src" / "app.py").write_text(f"x = {attempt + 1}\n")

    played = bench(project, tmp_path, text, edits={"it": edit}).play()

    assert played.ending("it").outcome == "passed"
    assert [answer.attempt for answer in played.answers("it")] == [1, 2]
    assert played.answers("it#1/run")[0].kind == "failed"
    assert played.answers("it#2/run")[0].kind == "ok"
    assert (project.root / "src" / "app.py").read_text() == "x = 1\n"


@pytest.mark.req("X12", "C49")
def test_a_worker_that_changes_nothing_has_failed(project: Project, tmp_path: Path) -> None:
    text = """
    roles: {w: {agent: claude, prompt: work}}
    steps:
      it: {role: w, touches: ["src/**"], retry: 1, on: {failed: next}}
    """
    played = bench(project, tmp_path, text).play()

    assert (played.answer("it").kind, played.answer("it").reason) == ("failed", "no_change")
    assert "src/**" in played.result("it")["message"]


@pytest.mark.req("X7")
def test_protected_files_that_a_command_changes_wait_for_a_person_as_well(
    project: Project, tmp_path: Path
) -> None:
    played = flow(project, tmp_path, "{run: [cp, README.md, CLAUDE.md], touches: ['**']}").play()

    assert played.answer("it").protected == ("CLAUDE.md",)
    assert [event.path for event in played.events if isinstance(event, ApprovalAsked)] == ["it#1/!protected"]
    assert played.ending("it").outcome == "passed", "ann has allowed it"


def test_output_is_passed_on_while_the_command_runs(project: Project, tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    bench_ = flow(project, tmp_path, "{run: [printf, 'grün\\n']}").given(
        on_progress=lambda path, progress: seen.append((path, progress.text))
    )

    bench_.play()

    assert ("it", "grün\n") in seen


def test_results_are_json_values(project: Project, tmp_path: Path) -> None:
    played = flow(project, tmp_path, "{run: [printf, '[1, {\"a\": null}]'], output: json}").play()

    assert json.loads(json.dumps(played.result("it"))) == played.result("it")
