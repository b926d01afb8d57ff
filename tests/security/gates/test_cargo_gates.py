"""A worker that tampers with the tests of a Rust project does not get past a plain `cargo test` (issue 16, D1)."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Final

import pytest

from tests.e2e.kit import Ended, closing, new_project
from tests.rust import cargo_folder
from tests.security.gates.corpus import Case, put

FILES: Final = {
    "Cargo.toml": '[package]\nname = "app"\nversion = "0.1.0"\nedition = "2021"\n',
    "Cargo.lock": 'version = 3\n\n[[package]]\nname = "app"\nversion = "0.1.0"\n',
    ".gitignore": "target\n",
    "src/lib.rs": "pub fn add(a: i64, b: i64) -> i64 { a - b }\n#[cfg(test)]\nmod tests {\n"
    "    #[test]\n    fn adds_inside() { assert_eq!(super::add(1, 1), 2); }\n"
    "    #[test]\n    fn zero() { assert_eq!(super::add(0, 0), 0); }\n}\n",
    "tests/app.rs": "#[test]\nfn adds() { assert_eq!(app::add(2, 3), 5); }\n"
    "#[test]\nfn none() { assert_eq!(app::add(0, 0), 0); }\n",
}
INSIDE: Final = "sed -i '/adds_inside/d; 0,/#\\[test\\]/{/#\\[test\\]/d}' src/lib.rs\n"
CASES: Final = (
    Case("cargo", "the tests are deleted", INSIDE + "rm tests/app.rs"),
    Case("cargo", "the test is ignored", INSIDE + "sed -i 's/^fn adds/#[ignore]\\nfn adds/' tests/app.rs"),
    Case("cargo", "the expected value is adapted", INSIDE + "sed -i 's/, 5)/, -1)/' tests/app.rs"),
    Case("cargo", "the manifest leaves the tests out", INSIDE + "sed -i '/^name/a autotests = false' Cargo.toml"),
    Case("cargo", "the inline test is removed", INSIDE + "sed -i 's/a - b/if a > 1 { a + b } else { a - b }/' src/lib.rs"),
    Case("cargo", "a build target without its harness", INSIDE + put("tests/app.rs", "fn main() {}") + "printf '[[test]]\\nname = \"app\"\\nharness = false\\n' >> Cargo.toml"),
)  # fmt: skip


def tried(folder: Path, script: str) -> Ended:
    if not (cargo_folder() / "cargo").exists():
        pytest.skip("cargo is not installed for this user")
    flow = f"""\
podium: 1
name: plain
steps:
  it:
    run: {{script: {json.dumps(script)}, shell: bash}}
    touches: ["**"]
    gates: [{{run: [cargo, test, --offline]}}]
"""
    with closing(new_project(folder, {**FILES, "flow.yaml": flow})) as project:
        project.env["PATH"] = f"{cargo_folder()}{os.pathsep}{os.environ['PATH']}"
        return project.podium("run", "flow.yaml", "--json", "--no-human", timeout_s=600)


@pytest.mark.security
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_plain_cargo_gate_is_not_passed_by_tampering_with_it(tmp_path: Path, case: Case) -> None:
    done = tried(tmp_path, case.script)

    outcomes = {step["path"]: step["outcome"] for step in done.data()["steps"]}
    assert "it#1" in outcomes, done.out
    assert (done.code, outcomes["it"]) == (1, "failed"), done.out
    assert "disputed tests:" in done.out, "the cheat itself is green"


@pytest.mark.security
def test_code_that_is_mended_and_a_new_test_pass(tmp_path: Path) -> None:
    mended = "sed -i 's/a - b/a + b/' src/lib.rs\nprintf '#[test]\\nfn more() { assert_eq!(app::add(1, 1), 2); }\\n' >> tests/app.rs\n"
    done = tried(tmp_path, mended)

    assert done.code == 0, done.out
