"""A feature is planned, designed phase by phase and built component by component; the planner's answer drives a real run."""

from __future__ import annotations

from typing import Any

import pytest

from podium.app.run.rerun import preview_rerun
from podium.core.events import AttemptEnded, AttemptStarted, StepEnded, StepExpanded
from podium.core.hash_chain import RunId
from podium.core.state import State
from podium.core.types import Address
from tests.engine.kit import HEAD, Project, git, outcome
from tests.engine.test_continuing import made, went_on

pytestmark = pytest.mark.slow

HEADER = HEAD + "".join(
    f"{line}\n"
    for line in (
        "agents:",
        *(f"  {name}: {{type: scripted, script: cast.yaml}}" for name in ("architect", "lead", "developer")),
    )
)
STEPS = """\
  plan: {agent: architect, prompt: Plan it, touches: [], output: {schema: Feature}}
  feature:
    build: "${{ steps.plan.output }}"
    DESIGN
    component: {agent: developer, prompt: "Make {{ component.id }}.", retry: {attempts: 1, on_exhausted: fail}}
    parallel: NUMBER
  land: {git: {land: main, message: "${{ steps.plan.output.title }}"}}
"""
PLAN = """\
- match: {step: plan}
  output:
    id: P1T5
    title: Sign-in
    phases:
      backend:
        interfaces: {login: {file: api/login.txt, text: "login(name)\\n", check: [sh, -c, "test ! -e service.txt || grep -q login service.txt"]}}
        components:
          model: {description: the model, touches: [model.txt], needs: []}
          service: {description: the service, touches: [service.txt], needs: [model]}
          tables: {description: the tables, touches: [tables.txt], needs: []}
      frontend:
        interfaces: {}
        components:
          form: {description: the form, touches: [form.txt], needs: [backend.service]}
"""
NAMES = ("model", "service", "tables", "form")
BUILT = "".join(
    f"- {{match: {{prompt: 'Make {name}.'}}, write: {{{name}.txt: '{name} for login(name)'}}}}\n"
    for name in NAMES
)
BACKEND, FRONTEND = "feature/phases[1]", "feature/phases[2]"
MODEL, SERVICE, TABLES = (f"{BACKEND}/components[{number}]" for number in (1, 2, 3))
FORM = f"{FRONTEND}/components[1]"


def built(
    project: Project, cast: str, *, design: str = "", parallel: int = 3, **options: Any
) -> tuple[RunId, State]:
    steps = STEPS.replace("    DESIGN\n", f"    {design}\n" if design else "").replace(
        "NUMBER", str(parallel)
    )
    return project.run(project.flow(steps, head=HEADER, cast=cast + PLAN + BUILT), **options)


def moments(project: Project, run: RunId) -> dict[str, tuple[int, int]]:
    """When each step began and ended, by the places of these events in the log."""
    began: dict[str, int] = {}
    found: dict[str, tuple[int, int]] = {}
    for place, event in enumerate(project.events(run)):
        if isinstance(event, AttemptStarted):
            began.setdefault(event.path, place)
        elif isinstance(event, StepEnded):
            found[event.path] = began.get(event.path, place), place
    return found


@pytest.mark.req("R161", "R163", "R165", "R168")
def test_a_planners_answer_becomes_interfaces_phases_and_components_in_their_order(project: Project) -> None:
    run, state = built(project, "")

    assert state.ended is not None
    assert state.ended.status == "passed"
    keys = {str(event.path): event.keys for event in project.events(run) if isinstance(event, StepExpanded)}
    assert keys["feature/phases"] == ("backend", "frontend")
    assert keys[f"{BACKEND}/components"] == ("model", "service", "tables")
    when = moments(project, run)
    assert when[f"{BACKEND}/interfaces"][1] < min(when[path][0] for path in (MODEL, SERVICE, TABLES))
    assert when[BACKEND][1] < when[f"{FRONTEND}/interfaces"][0] < when[FORM][0]
    assert when[MODEL][1] < when[SERVICE][0], "a need comes first"
    assert when[BACKEND][1] < when[FORM][0], "phases follow each other"
    assert git(project.root, "log", "-1", "--format=%s") == "Sign-in"
    assert [git(project.root, "show", f"main:{name}.txt") for name in NAMES] == [
        f"{name} for login(name)" for name in NAMES
    ]


@pytest.mark.req("R162")
def test_an_architect_plans_a_lead_designs_each_phase_and_a_developer_makes_each_component(
    project: Project,
) -> None:
    designed = """\
- match: {step: feature/phases/design, iteration: 1}
  output: {interfaces: {}, components: {model: {description: m, touches: [model.txt], needs: []}}}
- match: {step: feature/phases/design, iteration: 2}
  output: {interfaces: {}, components: {form: {description: f, touches: [form.txt], needs: []}}}
"""
    run, state = built(project, designed, design="design: {agent: lead, prompt: Design it, touches: []}")

    assert state.ended is not None
    assert state.ended.status == "passed"
    ends = [event for event in project.events(run) if isinstance(event, AttemptEnded)]
    who = {
        event.path: (event.result or {}).get("agent") for event in ends if (event.result or {}).get("agent")
    }
    assert who == {
        "plan": "architect",
        f"{BACKEND}/design": "lead",
        MODEL: "developer",
        f"{FRONTEND}/design": "lead",
        FORM: "developer",
    }


@pytest.mark.req("R169")
def test_an_interface_is_a_file_that_stays_as_it_is_and_the_work_is_checked_against_it(
    project: Project,
) -> None:
    wide = PLAN.replace("touches: [model.txt]", "touches: ['**']")
    broken = "- {match: {prompt: 'Make model.'}, write: {api/login.txt: 'login()', model.txt: m}}\n"
    _, state = built(project, broken + wide, no_human=True)
    assert (_end(state, MODEL).reason, outcome(state, TABLES)) == ("protected", "passed")

    unfit = "- {match: {prompt: 'Make service.'}, write: {service.txt: 'log_in(name)'}}\n"
    _, state = built(project, unfit)
    assert (outcome(state, MODEL), _end(state, SERVICE).reason) == ("passed", "gates")


@pytest.mark.req("R157", "R158", "R161", "R170")
def test_a_late_phase_that_fails_leaves_the_branch_alone_and_is_done_again_by_itself(
    project: Project,
) -> None:
    """Status adds up from component to phase to feature, and what the earlier phase has made is not lost."""
    first, state = built(project, "- {match: {prompt: 'Make form.'}, blocked: no idea}\n", parallel=1)

    assert [outcome(state, path) for path in (FORM, FRONTEND, "feature")] == ["blocked", "failed", "failed"]
    assert [outcome(state, path) for path in (MODEL, SERVICE, TABLES, BACKEND)] == ["passed"] * 4
    assert git(project.root, "log", "--format=%s", "main") == "work"
    assert "service.txt" in git(project.root, "ls-tree", "--name-only", _end(state, BACKEND).tree or "")

    project.write("cast.yaml", PLAN + BUILT)
    second, after = went_on(project, preview_rerun(project.facade, first, step="feature/frontend"))

    assert made(project, second)[:2] == [f"{FRONTEND}/interfaces", FORM]
    assert not [path for path in made(project, second) if path.startswith(BACKEND) or path == "plan"]
    assert after.ended is not None
    assert after.ended.status == "passed"
    assert git(project.root, "show", "main:form.txt") == "form for login(name)"


def _end(state: State, path: str) -> StepEnded:
    ending = state.instances[Address(path)].ending
    assert ending is not None
    return ending
