"""Checks which keys go together: one verb per step (rule 4), and only the keys of this verb (rule 5)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, TypeAlias

from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.file import File
from podium.workflow.schema.parts import Git, StrategyCommand, Wait
from podium.workflow.schema.reader import FieldFault
from podium.workflow.schema.scalars import DONE
from podium.workflow.schema.step import Feature, Gate, Step, StepOrGate

BrokenPaths: TypeAlias = frozenset[DocPath]
"""The paths of keys that were already reported and omitted."""

_PROCESS_VERBS: Final = ("agent", "run", "review", "git", "wait")
_BLOCK_VERBS: Final = ("steps", "build")

VERBS_OF_KEY: Final[dict[str, tuple[str, ...]]] = {
    "stdin": ("run", "agent"),
    **dict.fromkeys(("junit", "coverage", "must_fail_before", "baseline", "exit_codes", "tests"), ("run",)),
    **dict.fromkeys(("of", "min_score", "bar", "phrase", "approve", "verdict"), ("review",)),
    **dict.fromkeys(("show", "approvals", "remind", "escalate"), ("human",)),
    **dict.fromkeys(("level", "veto", "by", "notify", "presence"), ("review", "human")),
    **dict.fromkeys(
        ("model", "tools", "approve_tools", "fallback", "continuity", "team", "no_change", "done"),
        ("agent",),
    ),
    **dict.fromkeys(("design", "component"), ("build",)),
    "estimate": ("agent", "review"),
    "prompt": ("agent", "review"),
    "context": ("agent", "review"),
    "gates": ("agent", "run", "git", "steps", "workflow", "build"),
    "timeout": ("agent", "run", "review", "human", "wait", "git", "steps", "workflow", "build"),
    "output": ("agent", "run", "review", "human", "wait", "steps", "workflow", "build"),
    "with": ("agent", "review", "workflow", "continue_as"),
    "max": ("continue_as",),
    "touches": ("agent", "run", *_BLOCK_VERBS),
    "protect": ("agent", "run", *_BLOCK_VERBS),
    "driver": ("steps",),
    "workspace": ("agent", "run", "review"),
    "memory": ("agent", "run"),
    "base": ("agent", "run"),
    "dir": ("agent", "run", "review", "wait"),
    **dict.fromkeys(("sandbox", "network", "secrets", "env", "recovery"), _PROCESS_VERBS),
    "runs_on": ("agent", "run", "review"),
}
"""The keys that only some verbs take."""

WAIT_FORMS: Final = ("signal", "file", "timer", "until_time", "commit", "step", "poll")
_WAIT_EXTRAS: Final = {"branch": "commit", "every": "poll", "pending": "poll"}
GIT_FORMS: Final = ("land", "branch", "stash")
_GIT_EXTRAS: Final = {"message": "land", "how": "land", "push": "branch", "pull_request": "branch"}


def check_file(file: File, broken: BrokenPaths) -> Iterator[FieldFault]:
    if file.driver is not None:
        yield _driver_fault(file)
    for name, step in all_steps(file):
        yield from check_step(name, step, broken)
    for name, gate in file.gates.items():
        yield from check_gate(f'gate "{name}"', gate, broken)
    for role_name, role in file.roles.items():
        for entry in role.gates:
            if isinstance(entry, Gate):
                yield from check_gate(f'a gate of role "{role_name}"', entry, broken)


def all_steps(file: File) -> Iterator[tuple[str, Step]]:
    """Every step of a file with its name, outer ones first."""
    for block in (file.steps, file.finally_ or {}):
        yield from steps_below(block.items())


def steps_below(steps: Iterable[tuple[str, Step]]) -> Iterator[tuple[str, Step]]:
    for name, step in steps:
        yield name, step
        if step.steps:
            yield from steps_below(step.steps.items())
        for inner, body in (("design", step.design), ("component", step.component)):
            if body is not None:
                yield from steps_below([(inner, body)])
        if isinstance(step.build, Feature):
            yield from components_of(step.build)


def components_of(feature: Feature) -> Iterator[tuple[str, Step]]:
    """The overrides in a feature; they have no verb of their own."""
    for phase in feature.phases.values():
        for name, component in phase.components.items():
            yield from steps_below((component.steps or {}).items())
            yield name, component


def check_step(name: str, step: Step, broken: BrokenPaths) -> Iterator[FieldFault]:
    label = f'step "{name}"'
    if _is_component(step):
        return
    yield from _check_verb(label, step, broken)
    yield from _check_keys(step)
    yield from _check_modifiers(label, step)
    if step.driver is not None and step.steps is not None:
        yield _driver_fault(step)
    if step.wait is not None:
        yield from _check_wait(step.wait, broken)
    if step.git is not None:
        yield from _check_git(step.git)
        if isinstance(step.git.land, tuple) and step.gates:
            message = '"gates" cannot be used with a list in "land": they judge one tree, and each branch has its own'
            yield FieldFault(5, step.at("gates"), message, "put the gates on a step before this one")
    for entry in step.gates:
        if isinstance(entry, Gate):
            yield from check_gate(f"a gate of {label}", entry, broken)
    if step.done is not None:
        yield from _check_wait(step.done, broken)
        if step.agent != "human" and step.done.file is None and step.done.commit is None:
            message = '"done" of an agent is a file or a commit; other forms need "agent: human"'
            yield FieldFault(5, step.at("done"), message)


def _driver_fault(block: File | Step) -> FieldFault:
    """Merging has turned every `driver` that can be carried out into steps."""
    message = "a driver decides about a sequence: no parallel, no needs, and no step called end, after_X or after_failed_X"
    return FieldFault(5, block.at("driver"), message, "leave out `driver`, or rename the step")


def check_gate(label: str, gate: Gate, broken: BrokenPaths) -> Iterator[FieldFault]:
    named = f'gate "{gate.name}"' if gate.name else label
    yield from _check_verb(named, gate, broken)
    yield from _check_keys(gate)


def _is_component(step: Step) -> bool:
    """Whether a step is an entry of `components`, which overrides keys of a step that has the verb."""
    return len(step.path) >= 2 and step.path[-2] == "components" and step.verb is None


def _check_verb(label: str, step: StepOrGate, broken: BrokenPaths) -> Iterator[FieldFault]:
    verbs_in_file = [key for key in step.written_keys() if key in step.verbs and step.get(key) is not None]
    kinds = [verb for verb in verbs_in_file if not (verb == "agent" and "role" in verbs_in_file)]
    if len(kinds) > 1:
        yield FieldFault(
            4, step.at(kinds[1]), f'{label} has two verbs, "{kinds[0]}" and "{kinds[1]}"', _verb_hint(step)
        )
    elif not kinds and not _has_broken_key(broken, step.path):
        if isinstance(step, Gate):
            yield FieldFault(
                36, step.path, f"{label} has no verb", "use run, review, human or check", key=False
            )
        else:
            yield FieldFault(4, step.path, f"{label} has no verb", _verb_hint(step))


def _has_broken_key(broken: BrokenPaths, path: DocPath) -> bool:
    """Whether a key was omitted there, so that missing keys are not reported as well."""
    return any(omitted[:-1] == path for omitted in broken)


def _verb_hint(step: StepOrGate) -> str:
    return f"use one of {', '.join(step.verbs)}" if isinstance(step, Step) else "split it into two gates"


def _check_keys(step: StepOrGate) -> Iterator[FieldFault]:
    verb = step.verb
    if verb is None:
        return
    is_loop = isinstance(step, Step) and step.for_each is not None
    if verb == "review" and step.pass_ == DONE and not is_loop:
        message = '"pass: done" would accept work that every reviewer rejects'
        yield FieldFault(5, step.at("pass"), message, "use any, or route rejected with on: {rejected: next}")
    verb_name = "role" if verb == "agent" and step.get("role") is not None else verb
    for key in step.written_keys():
        fitting = VERBS_OF_KEY.get(key)
        if fitting is not None and verb not in fitting:
            yield FieldFault(5, step.at(key), f'"{key}" belongs to {_list_of(fitting)}, not to "{verb_name}"')


def _list_of(words: tuple[str, ...]) -> str:
    quoted = [f'"{word}"' for word in words]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} or {quoted[-1]}"


def _check_modifiers(label: str, step: Step) -> Iterator[FieldFault]:
    has_children = step.for_each is not None or step.verb in {"steps", "build", None}
    has_list = step.has_list
    if step.has("parallel") and not (has_children or step.verb == "review"):
        yield FieldFault(5, step.at("parallel"), '"parallel" needs for_each, steps, build or review')
    if step.has("pass") and not (has_children or has_list or step.verb == "review"):
        yield FieldFault(
            5, step.at("pass"), '"pass" needs for_each, steps, build, review or a list of agents'
        )
    if step.has("join") and not (has_children or has_list):
        yield FieldFault(5, step.at("join"), '"join" needs for_each, steps, build or a list of agents')
    shows_earlier = step.context is not None and step.context.earlier == "all"
    if shows_earlier and step.verb == "agent" and not has_list:
        message = '"earlier: all" needs a list of agents or a review'
        yield FieldFault(5, step.at("context", "earlier"), message, "one agent has no members before it")
    if step.cancel is not None:
        yield from _check_cancel(step, has_members=has_children or has_list)
    if step.for_each is not None and step.repeat is not None:
        yield FieldFault(
            5, step.at("repeat"), f"{label} has both for_each and repeat; nest one inside the other"
        )
    if step.verb == "agent" and step.stdin is not None:
        yield from _check_literal_prompt(step)
    if step.workspace is not None and step.workspace.hide:
        yield from _check_hide(step)
    if step.base is not None and step.agent == "human":
        message = '"base" cannot be used with "agent: human": a person works on the files of the run'
        yield FieldFault(5, step.at("base"), message)
    if step.memory is not None and step.agent == "human":
        message = '"memory" cannot be used with "agent: human": a person works where no memory is mounted'
        yield FieldFault(5, step.at("memory"), message, "people edit a memory with podium memory edit")
    if step.verb == "build" and step.component is None:
        yield FieldFault(5, step.at("build"), '"build" needs "component"')


def _check_hide(step: Step) -> Iterator[FieldFault]:
    """Hiding files needs a workspace of the agent's own."""
    if step.context is not None and isinstance(step.context.strategy, StrategyCommand):
        message = "the program of context.strategy reads all files, so it cannot be together with hide"
        yield FieldFault(5, step.at("context", "strategy"), message, "use a preset")
    place = step.at("workspace", "hide")
    if step.verb != "agent":
        message = f'"hide" belongs to agents: a "{step.verb}" step sees the whole tree'
        yield FieldFault(5, place, message, "put it on the step whose agent may not see the files")
    elif step.agent == "human":
        message = '"hide" cannot be used with "agent: human": a person can read the project'
        yield FieldFault(5, place, message)
    assert step.workspace is not None
    if step.workspace.mode == "inplace":
        message = '"hide" cannot be used with "mode: inplace": the project has all files'
        yield FieldFault(5, place, message, "remove the mode")


def _check_cancel(step: Step, *, has_members: bool) -> Iterator[FieldFault]:
    """`cancel: rest` needs members that run side by side, and a rule that some of them can meet without the others."""
    loop = step.for_each
    is_graph = (loop.needs if loop is not None else None) is not None or any(
        inner.needs is not None for inner in (step.steps or {}).values()
    )
    if not has_members or step.verb == "build" or (is_graph and step.verb in ("steps", "agent", "run")):
        message = '"cancel" needs a list of agents, parallel steps, or for_each without needs'
        yield FieldFault(5, step.at("cancel"), message)
    elif step.pass_ in (None, "all", DONE):
        message = '"cancel: rest" needs "pass" with any, majority, a number or a share'
        yield FieldFault(5, step.at("cancel"), message, "pass: 1 lets the first that passes win")


def _check_literal_prompt(step: Step) -> Iterator[FieldFault]:
    """`stdin` is all that the agent gets, so nothing else may add to its prompt."""
    for key in ("prompt", "context"):
        if step.has(key):
            message = f'"{key}" has no place beside "stdin", which is all that the agent gets'
            yield FieldFault(5, step.at(key), message, "remove one of the two")
    if step.agent == "human":
        yield FieldFault(5, step.at("stdin"), '"stdin" cannot be used with "agent: human"')


def _check_wait(wait: Wait, broken: BrokenPaths) -> Iterator[FieldFault]:
    forms = [form for form in WAIT_FORMS if wait.get(form) is not None]
    if len(forms) != 1:
        if not _has_broken_key(broken, wait.path):
            yield FieldFault(5, wait.path, f"a wait needs exactly one of {', '.join(WAIT_FORMS)}")
        return
    for key, form in _WAIT_EXTRAS.items():
        if wait.has(key) and forms != [form]:
            yield FieldFault(5, wait.at(key), f'"{key}" belongs to "{form}", not to "{forms[0]}"')


def _check_git(git: Git) -> Iterator[FieldFault]:
    forms = [form for form in GIT_FORMS if git.get(form) is not None]
    if len(forms) != 1:
        yield FieldFault(5, git.path, f"git needs exactly one of {', '.join(GIT_FORMS)}")
        return
    action = forms[0]
    for key, form in _GIT_EXTRAS.items():
        if git.has(key) and form != action:
            yield FieldFault(5, git.at(key), f'"{key}" belongs to "{form}", not to "{action}"')
    if git.land is not None and git.message is None:
        yield FieldFault(5, git.at("land"), '"land" needs "message"')
    branches = git.land if isinstance(git.land, tuple) else ()
    for number, branch in enumerate(branches):
        if branch in branches[:number]:
            yield FieldFault(5, git.at("land", number), f'"land" names "{branch}" twice')
