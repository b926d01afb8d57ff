"""Programs of the tree that judge the work come from before the work, and what a link hides is protected (issue 16, A5, A6)."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.e2e.kit import Project, closing, new_project

pytestmark = pytest.mark.slow

VERDICT = """#!/bin/sh
nonce=; tree=
while read -r name value; do
  case $name in nonce:) nonce=$value;; tree:) tree=$value;; esac
done
echo '{"decision": "DECISION", "score": 8, "findings": [], "summary": "said", "nonce": "'$nonce'", "tree": "'$tree'"}'
"""
FREE = "price: {input: 0, output: 0}"


def project_with(folder: Path, flow: str, cheat: str, **files: str) -> Project:
    project = new_project(folder, {"src/app.py": "x = 1\n", "cheat.sh": cheat, "flow.yaml": flow, **files})
    for path in (project.root / "tools").glob("*"):
        path.chmod(0o755)
    (project.root / "current").symlink_to("src")
    project.git("add", "-A")
    project.git("commit", "-q", "-m", "programs and a link")
    return project


def outcomes(done_out: str) -> dict[str, str]:
    return {step["path"]: step["outcome"] for step in json.loads(done_out)["steps"]}


@pytest.mark.parametrize(
    "gate", ["tools/check", "./tools/check", "[sh, tools/check]", "{script: 'tools/check && echo fine'}"]
)
@pytest.mark.req("R109")
def test_a_gate_that_is_a_program_of_the_tree_is_the_one_from_before(gate: str, tmp_path: Path) -> None:
    flow = f"""\
podium: 1
name: w
agents: {{worker: {{type: command, command: [sh, cheat.sh], {FREE}}}}}
steps:
  work: {{agent: worker, prompt: go, retry: 1, gates: [{{run: {gate}}}]}}
"""
    cheat = "printf '#!/bin/sh\\nexit 0\\n' > tools/check; echo done\n"
    with closing(project_with(tmp_path, flow, cheat, **{"tools/check": "#!/bin/sh\\nexit 1\\n"})) as project:
        project.put({"tools/check": "#!/bin/sh\necho the real one\nexit 1\n"})
        project.git("commit", "-q", "-a", "-m", "red")

        assert project.podium("run", "flow.yaml").code == 6, "somebody is asked about the changed program"
        done = project.podium("approve", "--json")

        assert "the real one" in json.dumps(project.events(project.run_id())), done.out
        assert outcomes(done.out)["work#1"] == "failed"


@pytest.mark.req("R109")
def test_a_program_that_the_step_declares_is_its_work(tmp_path: Path) -> None:
    flow = f"""\
podium: 1
name: w
agents: {{worker: {{type: command, command: [sh, cheat.sh], {FREE}}}}}
steps:
  work: {{agent: worker, prompt: go, retry: 1, touches: ["tools/**"], gates: [{{run: tools/check}}]}}
"""
    cheat = "printf '#!/bin/sh\\nexit 0\\n' > tools/check; echo done\n"
    with closing(project_with(tmp_path, flow, cheat, **{"tools/check": "#!/bin/sh\nexit 1\n"})) as project:
        assert project.podium("run", "flow.yaml", "--no-human").code == 0


@pytest.mark.req("R109")
def test_changing_the_program_of_a_gate_needs_a_person(tmp_path: Path) -> None:
    flow = f"""\
podium: 1
name: w
agents: {{worker: {{type: command, command: [sh, cheat.sh], {FREE}}}}}
steps:
  work: {{agent: worker, prompt: go, retry: 1, gates: [{{run: tools/check}}]}}
"""
    cheat = "printf '#!/bin/sh\\nexit 0\\n# mine\\n' > tools/check; echo done\n"
    with closing(project_with(tmp_path, flow, cheat, **{"tools/check": "#!/bin/sh\nexit 0\n"})) as project:
        done = project.podium("run", "flow.yaml", "--json")

        assert done.code == 6, done.out
        assert "tools/check" in json.dumps(done.data()["pending"])


@pytest.mark.parametrize(
    "command", ["[tools/reviewer]", "tools/reviewer", "[sh, review.sh]", "[sh, ./review.sh]"]
)
@pytest.mark.req("R109")
def test_a_reviewer_that_is_a_program_of_the_tree_is_the_one_from_before(
    command: str, tmp_path: Path
) -> None:
    flow = f"""\
podium: 1
name: w
agents:
  worker: {{type: command, command: [sh, cheat.sh], {FREE}}}
  judge: {{type: command, command: {command}, {FREE}}}
steps:
  work: {{agent: worker, prompt: go}}
  look: {{review: judge}}
"""
    cheat = "for f in tools/reviewer review.sh; do sed -i s/reject/approve/ $f; done; echo done\n"
    rejects = VERDICT.replace("DECISION", "reject")
    with closing(
        project_with(tmp_path, flow, cheat, **{"tools/reviewer": rejects, "review.sh": rejects})
    ) as project:
        done = project.podium("run", "flow.yaml", "--json", "--no-human")

        assert (done.code, outcomes(done.out)["look"]) == (1, "rejected"), done.out


@pytest.mark.parametrize(
    "name",
    [
        ".claude",
        ".codex",
        ".gemini",
        ".cursor",
        ".husky",
        ".githooks",
        ".vscode",
        ".devcontainer",
        ".github",
        "deep/.claude",
    ],
)
@pytest.mark.parametrize("kind", ["link", "file"])
@pytest.mark.req("R109")
def test_something_in_the_place_of_a_protected_folder_needs_a_person(
    name: str, kind: str, tmp_path: Path
) -> None:
    flow = f"""\
podium: 1
name: w
agents: {{worker: {{type: command, command: [sh, cheat.sh], {FREE}}}}}
steps:
  work: {{agent: worker, prompt: go, retry: 1}}
"""
    target = "../docs" if "/" in name else "docs"
    made = f"ln -s {target} {name}" if kind == "link" else f"echo x > {name}"
    cheat = f"mkdir -p docs/workflows deep; echo evil > docs/settings.json; {made}; echo done\n"
    with closing(project_with(tmp_path, flow, cheat)) as project:
        done = project.podium("run", "flow.yaml", "--json")

        assert done.code == 6, done.out
        assert name in json.dumps(done.data()["pending"])
