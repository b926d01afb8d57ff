"""Hostile output of commands and their reports, and further files that an agent can write: how to read each."""

from __future__ import annotations

from typing import Final

OUTPUT: Final = """
import os, tempfile
from pathlib import Path
from types import SimpleNamespace
from podium.process.launch import Finished
from podium.process.output import CapturedOutput
from podium.ports.sandbox import SandboxPolicy
from podium.attempt.command import result, suite
from podium.attempt.command.printed.failures import printed_failure
from podium.attempt.command.failure_facts import telling_line
from podium.attempt.command.report_xml import UnreadableReport
from podium.attempt.command import disputes
from podium.attempt.command.printed.results import MAX_PRINTED, TooMuchOutput, printed_results
from podium.attempt.command.runner_reports import _read_jest
from podium.attempt.command.suite_command import SuiteCommand
from podium.attempt.command.test_reports import Report
from podium.attempt.resources import resource_hint
from podium.workflow.test_gates.output import executed_tests, ended_early, listed_tests
MEGA = 1 << 20
def stored(unit):
    path = Path(tempfile.mkdtemp()) / "output"
    with path.open("wb") as file:
        for _ in range(32):
            file.write(unit * (MEGA // len(unit)))
    return CapturedOutput(b"", path.stat().st_size, None, path)
def ended(unit=b"x\\n"):
    return Finished(exit_code=1, signal=None, timed_out=False, duration_s=1.0, stdout=stored(unit), stderr=stored(unit))
def outcome(unit=b"x\\n"):
    return SimpleNamespace(finished=ended(unit))
def listed(runner, line):
    for parse in (listed_tests, executed_tests, printed_failure):
        parse(runner, (line * (MAX_PRINTED // len(line)))[:MAX_PRINTED])
def long(runner, unit, filler=b""):
    try:
        printed_results(runner, stored(unit + filler))
    except TooMuchOutput:
        pass
def compared(before, now, paths=()):
    base, work = (Report(dict.fromkeys(names, status)) for names, status in ((before, "passed"), (now, "failed")))
    problems = disputes.compare(base, work)
    disputes.moved(base, work, problems)
    disputes.disputed(problems, paths, was_rerun=True)
def jest(content):
    try:
        _read_jest(content, "/ws")
    except UnreadableReport:
        pass
NODE = SuiteCommand("node", ("node", "--test"), "", None, (), ())
big = ended()
whole = SimpleNamespace(finished=big)
"""
_RESULTS: Final = {
    "go": ("--- PASS: a (0s)\\n", "ok a\\t\\n", "=== RUN  a\\n", '{\"Action\":\"pass\",\"Test\":\"a\"}\\n', '{\"' + "[" * 200),
    "cargo": ("test a ... ok\\n", "test (line 1", "test result: ok. 1 passed\\n"),
    "unittest": ("a (b.c) ... ok\\n", "a (", "Ran 1 test in 0s\\n"),
    "node": ("ok 1 - a\\n", "    ok 1 - a\\n", "# tests 1\\n"),
    "pytest": ("1 passed, ", "FAILED a - b\\n", "1 failed in 1s\\n"),
    "jest": ("Tests: 1 failed, ", "  \u25cf a\\n"),
    "vitest": (" FAIL a > b\\n", " Tests  1 failed\\n"),
}  # fmt: skip
_UNITS: Final = {
    "short lines": 'b"x\\n"', "one line": 'b"x"', "spaces": 'b" "', "ends": 'b" ok\\n"', "beginnings": 'b"a (b)\\n"',
    "events": 'b\'{"Action":"pass","Test":"a"}\\n\'', "names": 'b"test a ... ok\\n"', "marks": '"\u2714 a\\n".encode()',
    "results with text between": 'b"ok 1 - a (b) --- PASS: a (0s) ... ok\\n" + b"x" * 220 + b"\\n"',
}  # fmt: skip
OUTPUT_CASES: Final = {
    **{
        f"output: 32 MB for {runner}, {name}": (OUTPUT, f'long("{runner}", {unit})')
        for runner in ("go", "cargo", "unittest", "node")
        for name, unit in _UNITS.items()
    },
    "programs: long Makefiles": (OUTPUT, 'from podium.workflow.test_gates.programs import programs_behind; files = {f"{n}/Makefile": b"\\t$(A) tools/a.sh x\\n" * 12_000 for n in range(100)}; programs_behind(("make", "test"), "", files, files.__getitem__)'),
    "programs: many patterns": (OUTPUT, 'from podium.workflow.test_gates.programs import programs_behind; files = ["Makefile", *(f"a{n}" for n in range(50_000))]; programs_behind(("make", "test"), "", files, lambda _: b"".join(b"include *a%d*c*d*\\n" % n for n in range(13_000)))'),
    "programs: quotes without an end": (OUTPUT, 'from podium.workflow.test_gates.programs import programs_behind; programs_behind(("make", "test"), "", ["Makefile"], lambda _: b"\\"" * MEGA)'),
    "programs: a deep package.json": (OUTPUT, 'from podium.workflow.test_gates.programs import programs_behind; programs_behind(("npm", "test"), "", ["package.json"], lambda _: b"[" * MEGA)'),
    "output: other tests than before": (OUTPUT, 'compared([f"t{n}::a" for n in range(60_000)], [f"u{n}::a" for n in range(60_000)])'),
    "output: failures in many changed files": (OUTPUT, 'compared([], [f"t{n}::a" for n in range(60_000)], [f"tests/t{n}.py" for n in range(5_000)])'),
    **{
        f"output: {runner} {number}": (OUTPUT, f'listed("{runner}", \'{line}\')')
        for runner, lines in _RESULTS.items()
        for number, line in enumerate(lines)
    },
    "output: the message of a large one": (OUTPUT, "result._end(big.stdout)"),
    "output: the resource limit in a large one": (OUTPUT, "resource_hint(big, SandboxPolicy(writable=()))"),
    "output: the count of a large one": (OUTPUT, 'executed_tests("pytest", suite.output_of(whole))'),
    "output: the files of a large one": (OUTPUT, 'suite.files_ended_early(NODE, whole, SimpleNamespace(mount_path="/w"))'),
    "output: the files of a large one with results": (OUTPUT, 'suite.files_ended_early(NODE, outcome(b"ok 1 - a\\n"), SimpleNamespace(mount_path="/w"))'),
    "output: tests of go that end in another order": (OUTPUT, 'names = [f"T{n}" for n in range(24_000)]; listed_tests("go", "".join(f"=== RUN   {name}\\n" for name in names) + "".join(f"--- PASS: {name} (0.00s)\\n" for name in reversed(names)) + "ok\\ta\\t0s\\n")'),
    "output: empty lines for node": (OUTPUT, 'ended_early("node", "\\n" * MEGA); listed_tests("node", "\\n" * MEGA)'),
    "output: digits for cargo": (OUTPUT, 'executed_tests("cargo", "9" * MEGA)'),
    "output: actions for go in one line": (OUTPUT, 'executed_tests("go", \'"Action":"pass",\' * 60_000)'),
    "output: a count of many digits": (OUTPUT, '[executed_tests(runner, "Ran " + "9" * MEGA + " tests in 1s") for runner in ("pytest", "unittest")]; executed_tests("pytest", "9" * MEGA + " passed")'),
    "output: an error without an end": (OUTPUT, 'telling_line("error: " * 200_000, "Traceback (most recent call last):\\n" * 20_000)'),
    "jest: empty objects": (OUTPUT, 'jest(b\'{"testResults":[\' + b"{}," * (5 * MEGA) + b"{}]}")'),
    "jest: deep": (OUTPUT, 'jest(b\'{"testResults":\' + b"[" * (16 * MEGA))'),
    "jest: many tests": (OUTPUT, 'jest(b\'{"testResults":[{"name":"a","status":"passed","assertionResults":[\' + b\'{"fullName":"a","status":"passed"},\' * 190_000 + b\'{"fullName":"a","status":"passed"}]}]}\')'),
}  # fmt: skip

WORK: Final = """
import os, subprocess, tempfile
from pathlib import Path
from podium.attempt.command.changed_tests import Judged, changed_inline_tests, changed_test_files
from podium.attempt.command.suite_command import SuiteCommand
from podium.git.repository import find, make_store, tree_of
root = Path(tempfile.mkdtemp())
def git(*args):
    command = ("git", "-c", "user.name=t", "-c", "user.email=t@t", "-c", "core.compression=1", *args)
    return subprocess.run(command, cwd=root, check=True, capture_output=True, text=True).stdout.strip()
git("init", "-q")
(root / "Makefile").write_text("test:\\n\\ttrue\\n")
git("add", "-A")
git("commit", "-qm", "1")
def work(name, size=0, content=b""):
    before = git("rev-parse", "HEAD")
    (root / name).write_bytes(content)
    if size:
        os.truncate(root / name, size)
    git("add", "-A")
    git("commit", "-qm", "2")
    store = root.with_name(root.name + "-store")
    make_store(store, "sha1") if not store.exists() else None
    return find(root, store), before, git("rev-parse", "HEAD")
def judge(runner, repository, before, now):
    trees = tree_of(repository, before), tree_of(repository, now)
    suite = SuiteCommand(runner, ("make", "test"), "", None, (), (), ("**/Cargo.toml",))
    changed_inline_tests(repository, *trees, suite)
    changed_test_files(Judged(repository, *trees), suite, ())
"""
WORK_CASES: Final = {
    "work: a large file of code": (WORK + 'made = work("app.py", 200 << 20)', 'judge("pytest", *made)'),
    "work: a large manifest": (WORK + 'made = work("Cargo.toml", 200 << 20)', 'judge("cargo", *made)'),
    "work: spaces and lines": (
        WORK + 'made = work("app.rs", content=b" \\n" * (1 << 20))',
        'judge("cargo", *made)',
    ),
    "work: spaces and lines of a script": (
        WORK + 'made = work("app.test.js", content=b" \\n" * (1 << 20))',
        'judge("vitest", *made)',
    ),
    "work: a deep manifest": (
        WORK + 'made = work("Cargo.toml", content=b"a = " + b"[" * (1 << 20))',
        'judge("cargo", *made)',
    ),
    "work: a large Makefile": (
        WORK + 'work("Makefile", 200 << 20); made = work("app.py", 1)',
        'judge("pytest", *made)',
    ),
}

MORE: Final = """
import os, tempfile
from pathlib import Path
from podium.errors import PodiumError
from podium.adapters.agents.claude.session_file import without_totals
from types import SimpleNamespace
from podium.adapters.exporters.gates.folder import _read as read_gate
from podium.adapters.exporters.gates.shared_folder import SharedFolder
from podium.app.author.detect_python import _project
from podium.attempt.command.printed.totals import executed_by_any, says_none
from podium.attempt.project_files import _files as _project_files
from podium.context.resolve.rust import _tables
from podium.engine.team_files import _dropped
from podium.workflow.test_gates.files import has_inline_tests, has_other_code, imports_any
from podium.workflow.test_gates.manifests import is_steered
from podium.workflow.test_gates.named_files import folders_named_by_settings
from podium.workflow.test_gates.programs import programs_behind
from podium.app.archive.check_export import check_export
from podium.app.author.detect import Files
from podium.app.author.role_packs import _files
from podium.attempt.prompt.tree_files import _content
from podium.attempt.wait import _File
from podium.attempt.workspace.toolchain import _is_direct
from podium.frontends.cli.gitignore import _beginning
from podium.git.trees.ignore import is_ignored, parse_rules
from podium.views.run.activity import describe, last_line, read_activity
folder = Path(tempfile.mkdtemp())
MEGA = 1 << 20
GIGA = 1 << 30
def made(name, size=0, content=b""):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    if size:
        os.truncate(path, size)
    return path
def refused(call, *args):
    try:
        call(*args)
    except (PodiumError, OSError, ValueError):
        pass
def waited(content):
    made("w.json", content=content)
    _File(folder, "w.json")._read()
def rules(lines, names=("a/b/c/file.txt",) * 50):
    parsed = {"": parse_rules("\\n".join(lines).encode())}
    for name in names:
        above, _, last = name.rpartition("/")
        is_ignored(above, last, is_folder=False, rules=parsed)
"""
MORE_CASES: Final = {
    "claude session: a total of empty objects": (MORE, 'without_totals(b\'{"type":"cost-state","x":[\' + b"{}," * (10 * MEGA) + b"{}]}")'),
    "claude session: many short suspects": (MORE, 'without_totals(b"\\\\u00\\n" * (6 * MEGA))'),
    "claude session: many parsed lines": (MORE, 'without_totals((b\'{"a":"\\\\u0041","b":[\' + b"{}," * 500 + b"{}]}\\n") * 18_000)'),
    "claude session: one deep line": (MORE, 'without_totals(b\'{"type":"cost-state","x":\' + b"[" * (8 * MEGA))'),
    "manifest: deep": (MORE, 'assert is_steered("Cargo.toml", b"[package]", b"a = " + b"[" * MEGA)'),
    "manifest: a key of many parts": (MORE, 'assert is_steered("Cargo.toml", b"[package]", b"a." * 500_000 + b"b = 1")'),
    "manifest: many keys": (MORE, 'is_steered("Cargo.toml", b"[package]", b"".join(b"k%d = 1\\n" % n for n in range(300_000)))'),
    "manifest: a deep table": (MORE, 'is_steered("Cargo.toml", b"[package]", b"[" + b"a." * 2000 + b"b]\\n" + b"".join(b"[a%d]\\n" % n for n in range(300_000)))'),
    "pyproject.toml: deep": (MORE, 'made("pyproject.toml", content=b"a = " + b"[" * MEGA); assert _project(Files(folder)) == {}'),
    "pyproject.toml: a key of many parts": (MORE, 'made("pyproject.toml", content=b"a." * 500_000 + b"b = 1"); assert _project(Files(folder)) == {}'),
    "crate: many keys": (MORE, 'assert _tables(b"".join(b"k%d = 1\\n" % n for n in range(300_000))) == ({}, {})'),
    "project outside git: a sparse .gitignore": (MORE, 'made(".gitignore", 4 * GIGA); list(_project_files(SimpleNamespace(project=folder)))'),
    "mailbox: a sparse file": (MORE, 'made("inbox/a.md", 4 * GIGA); assert list(_dropped(folder, "x")) == []'),
    "mailbox: a pipe": (MORE, '(folder / "inbox").mkdir(); os.mkfifo(folder / "inbox/a.md"); assert list(_dropped(folder, "x")) == []'),
    "shared folder: a sparse record": (MORE, 'made(".workflow/audit/.w.run", 2 * GIGA); SharedFolder(folder, "r", "w").is_ours()'),
    "shared folder: a pipe": (MORE, 'made(".workflow/audit/x"); os.mkfifo(folder / ".workflow/audit/.w.run"); SharedFolder(folder, "r", "w").is_ours()'),
    "settings: many words in a project of many folders": (MORE, 'text = b"".join(b"a%d/b " % n for n in range(30_000)); folders_named_by_settings(["pytest.ini"], {f"x{n}" for n in range(100_000)}, lambda _: text)'),
    "imports: spaces and lines": (MORE, 'imports_any(b" \\n" * (2 * MEGA), ["a.py"])'),
    "code: spaces and lines": (MORE, '[has_other_code(name, b" \\n" * (2 * MEGA)) for name in ("a.py", "a.js")]; [has_inline_tests(name, b" \\n" * MEGA) for name in ("a.py", "a.rs")]'),
    "programs: spaces and lines": (MORE, 'programs_behind(("make", "test"), "", ["Makefile", "tools/a.py"], {"Makefile": b"test:\\n\\tpython tools/a.py\\n", "tools/a.py": b" \\n" * MEGA}.__getitem__)'),
    "totals: spaces and lines": (MORE, 'says_none(" \\n" * (MEGA // 2)); executed_by_any(" \\n" * (MEGA // 2))'),
    "gate file: a pipe": (MORE, 'os.mkfifo(folder / "approve"); assert read_gate(folder / "approve", "approve") is None'),
    "gate file: a sparse file": (MORE, 'assert read_gate(made("approve", 4 * GIGA), "approve") is None'),
    "gate file: deep": (MORE, 'assert read_gate(made("approve.json", content=b"[" * MEGA), "approve") is None'),
    "gate file: empty objects": (MORE, 'read_gate(made("approve.json", content=b"[" + b"{}," * (MEGA // 4) + b"{}]"), "approve")'),
    "wait file: empty objects": (MORE, 'waited(b"[" + b"{}," * (MEGA // 4) + b"{}]")'),
    "wait file: deep": (MORE, 'waited(b"[" * MEGA)'),
    "package.json: deep": (MORE, 'made("package.json", content=b"[" * MEGA); assert Files(folder).map("package.json") == {}'),
    "package.json: a sparse file": (MORE, 'made("package.json", 4 * GIGA); assert Files(folder).map("package.json") == {}'),
    "package.json: empty objects": (MORE, 'made("package.json", content=b"[" + b"{}," * (MEGA // 4) + b"{}]"); assert Files(folder).map("package.json") == {}'),
    "environment: a deep direct_url.json": (MORE, 'assert not _is_direct(made("direct_url.json", content=b"[" * MEGA), folder)'),
    "environment: a sparse direct_url.json": (MORE, 'assert not _is_direct(made("direct_url.json", 4 * GIGA), folder)'),
    ".gitignore: a sparse file": (MORE, '_beginning(made(".gitignore", 4 * GIGA))'),
    "context: a sparse file": (MORE, '_content(made("a.txt", 4 * GIGA))'),
    "roles: a pipe": (MORE, 'os.mkfifo(folder / "r.yaml"); refused(_files, str(folder / "r.yaml"))'),
    "roles: a folder of many files": (MORE, '[made(f"roles/{n}.yaml", content=b"a: 1") for n in range(20)]; refused(_files, str(folder / "roles"))'),
    "roles: a deep file": (MORE, 'refused(_files, str(made("r.yaml", content=b"a: " + b"[" * 500_000)))'),
    "rules: distinct sets": (MORE, 'rules([f"{n}" + "[a-z]" * 200 for n in range(1000)])'),
    "rules: negated sets": (MORE, 'rules([f"{n}" + "[!a]" * 200 for n in range(1000)])'),
    "rules: classes": (MORE, 'rules([f"{n}" + "[[:alpha:]]" * 90 for n in range(1000)])'),
    "rules: distinct stars": (MORE, 'rules([f"{n}" + "*a" * 120 for n in range(2000)])'),
    "rules: long names": (MORE, 'rules([f"{n}" + "a" * 250 for n in range(2000)])'),
    "rules: long questions": (MORE, 'rules([f"{n}" + "?" * 250 for n in range(2000)])'),
    "rules: escapes": (MORE, 'rules([f"{n}" + chr(92) + "a" * 250 for n in range(2000)])'),
    "rules: many folders": (MORE, 'rules([f"**/{n}/" + "**/a?/" * 80 for n in range(2000)], ["a/" * 200 + "x"] * 50)'),
    "workflow: a list of short values": (MORE, 'from podium.workflow.source import yaml; yaml.load("- a\\n" * 260_000, name="w")'),
    "workflow: a flow list": (MORE, 'from podium.workflow.source import yaml; yaml.load("a: [" + "1," * 500_000 + "]", name="w")'),
    "activity: a text of short lines": (MORE, 'last_line("a\\n" * (4 * MEGA)); describe("text", "a\\n" * (4 * MEGA))'),
    "activity: a line that is not one": (MORE, 'read_activity(b"9" * (8 * MEGA)); read_activity(b"x" * (8 * MEGA))'),
    "export: deep events": (MORE, 'made("manifest.json", content=b"{}"); made("events.jsonl", content=b"[" * (4 * MEGA)); check_export(folder)'),
}  # fmt: skip
