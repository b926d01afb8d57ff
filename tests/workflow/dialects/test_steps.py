"""The steps format beyond its acceptance tests: loops, blocks, catch, conditions, names, and invalid files."""

from __future__ import annotations

import pytest

from podium.errors import ConfigurationError
from podium.workflow.dialects.steps.text import as_expression, as_prompt, as_value, split_references
from podium.workflow.dialects.translation import name_of
from tests.workflow.dialects.kit import ScriptedProject, status, steps_of

HEAD = 'version: "1.0"\nname: My Flow\n'


@pytest.fixture
def work(project: ScriptedProject) -> ScriptedProject:
    (project.root / "workspace").mkdir()
    project.write("workspace/data.txt", "seven\n")
    return project


def test_special_targets_leave_and_continue_a_loop(work: ScriptedProject) -> None:
    """R023, R054: a failure that leads to _loop_break counts as handled."""
    file = work.write_workflow(
        f"""{HEAD}strict_flow: true
steps:
  - name: Each
    for_each:
      items: [a, stop, c]
      as: file
      steps:
        - name: Work
          command: [test, "${{file}}", "!=", stop]
          on: {{success: {{goto: _loop_continue}}, failure: {{goto: _loop_break}}}}
    on: {{success: {{goto: After}}, failure: {{error: no}}}}
  - name: After
    command: [echo, "${{loop.index}}"]
    on: {{success: {{end: true}}, failure: {{error: no}}}}
""".replace("${loop.index}", "done")
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert steps_of(work.ended_steps(run)) == [
        "each[1]/work",
        "each[1]",
        "each[2]/work",
        "each[2]",
        "each",
        "after",
    ]


@pytest.mark.req("R028")
def test_a_while_loop_checks_the_folder_in_each_round(work: ScriptedProject) -> None:
    """R055: work in the project itself changes files but not the tree."""
    work.write("workspace/queue/1", "")
    work.write("workspace/queue/2", "")
    file = work.write_workflow(
        HEAD
        + """steps:
  - name: Drain
    while:
      condition: {not: {file_exists: drained}}
      max_iterations: 9
      steps:
        - name: Take
          command: [sh, -c, "rm queue/$(ls queue | head -n 1); ls queue | grep -q . || touch drained"]
"""
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert steps_of(work.ended_steps(run)).count("drain[1]/take") == 1
    assert steps_of(work.ended_steps(run))[-1] == "drain"
    assert "drain[3]/take" not in steps_of(work.ended_steps(run))


@pytest.mark.req("R028")
def test_context_values_are_set_listed_and_compared(work: ScriptedProject) -> None:
    """R046, R051, R052, R055."""
    file = work.write_workflow(
        HEAD
        + """context: {branch: main, count: 3, files: [x, y]}
env: [LANG]
steps:
  - name: Note
    set_context: {last: "on ${context.branch}", n: 4}
  - name: Each
    for_each:
      items: "${context.files}"
      steps:
        - name: Show
          command: [echo, "${item}", "${loop.index}/${loop.total}"]
  - name: Use
    when:
      all:
        - equals: {left: "${context.count}", right: "3"}
        - contains: {haystack: "${context.last}", needle: main}
        - regex: {text: "${context.last}", pattern: "^ON", flags: i}
        - number: {left: "${context.n}", op: ">=", right: 4}
        - exit_code: {step: Show2, op: "!=", value: 0}
      any:
        - env_set: NO_SUCH_VARIABLE
        - not: {equals: {left: a, right: "a${context.count}"}}
    command: [echo, "${context.last}"]
    output_file: said.txt
""".replace("Show2", "Before").replace(
            "  - name: Note",
            "  - name: Before\n    command: [false]\n    on: {failure: {goto: Note}}\n  - name: Note",
        )
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert work.artifacts(run)["use/said.txt"] == b"on main\n"


@pytest.mark.req("R028")
def test_the_run_continues_after_a_catch_block(work: ScriptedProject) -> None:
    """R056."""
    file = work.write_workflow(
        HEAD
        + """steps:
  - name: Risky
    command: [false]
    catch:
      - name: Repair
        command: [touch, repaired]
  - name: Last
    parallel:
      - {name: Left, command: [test, -e, repaired]}
      - {name: Right, command: [cat], input_files: [data.txt, data.txt], output_file: twice.txt}
"""
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert steps_of(work.ended_steps(run))[:2] == ["risky", "repair"]
    assert work.artifacts(run)["last/right/twice.txt"] == b"seven\nseven\n"


LONG = """
version: "1.0"
name: long
steps:
  - {name: Make, command: [python3, -c, "print('x' * 100000)"], output_file: long.txt}
  - {name: Count, command: [wc, -c], input_file: artifacts/Make/long.txt, output_file: count.txt}
"""


def test_the_whole_output_of_a_step_is_piped(work: ScriptedProject) -> None:
    """A command got the first 8 KB of it and passed."""
    run, state = work.run(work.write_workflow(LONG))
    assert status(state) == "passed"
    assert work.artifacts(run)["count/count.txt"].strip() == b"100001"


def test_an_expression_that_has_only_the_beginning_of_an_output_is_not_piped(
    project: ScriptedProject,
) -> None:
    text = """
podium: 1
steps:
  make: {run: [python3, "-c", "print('x' * 100000)"]}
  count: {run: [wc, "-c"], stdin: "${{ join([steps.make.output, steps.make.output], '') }}"}
"""
    run, state = project.run(project.write_workflow(text))
    assert status(state) != "passed"
    assert "only the beginning of the long output" in str(project.view(run).steps[-1].result)


def test_a_command_reads_the_output_of_several_steps(work: ScriptedProject) -> None:
    make = "  - {name: NAME, command: [echo, NAME], output_file: out.txt}\n"
    read = "  - {name: All, command: [cat], input_files: [artifacts/One/out.txt, artifacts/Two/out.txt], output_file: all.txt}\n"
    run, state = work.run(
        work.write_workflow(
            HEAD + "steps:\n" + make.replace("NAME", "One") + make.replace("NAME", "Two") + read
        )
    )
    assert status(state) == "passed"
    assert work.artifacts(run)["all/all.txt"] == b"One\nTwo\n"


@pytest.mark.req("R028", "R045")
@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ("- {name: A, provider: claude, prompt: hi, input_file: o}", 'both "prompt" and a file'),
        ("- {name: A, command: [a], timeout: 5m}", 'timeout of "A" must be a whole number of seconds'),
        ("- {name: A, command: [a], retry: {attempts: 0}}", 'retry.attempts of "A" must be a whole number'),
        (
            "- {name: A, command: [a], on: {success: {goto: B1}}}",
            'success: {goto: B1} of "A": step "',
        ),
        (
            "- {name: A, command: [a], on: {failure: {end: false}}}",
            'failure: {end: true} of "A": end can only',
        ),
        ("- {name: A, command: [a], when: {step_ok: Bee}}", 'step_ok of "A": step "Bee" does not exist'),
        (
            "- {name: A, command: [a], when: {exit_code: {step: Bee, op: '==', value: 0}}}",
            'exit_code of "A": step "Bee" does not exist',
        ),
        (
            "- {name: A, command: [a], on: {success: {goto: C}}}\n  - {name: B, for_each: {items: [1], steps: [{name: C, command: [c]}]}}",
            '"C" is inside "B"',
        ),
        (
            "- {name: A, parallel: [{name: B, set_context: {x: '1'}}, {name: C, command: [c]}]}",
            "set_context cannot be used inside parallel",
        ),
        (
            "- {name: A, parallel: [{name: B, command: [b], on: {success: {goto: C}}}, {name: C, command: [c]}]}",
            "can lead only to _end or to the step after parallel",
        ),
        (
            "- {name: A, parallel: [{name: B, while: {condition: {env_set: X}, steps: [{name: C, command: [c], on: {success: {goto: A}}}]}}]}",
            "a loop inside parallel cannot lead there",
        ),
        (
            "- {name: A, parallel: [{name: B, while: {condition: {env_set: X}, steps: [{name: C, command: [c], on: {success: {goto: _end}}}]}}]}",
            "a loop inside parallel cannot end the run",
        ),
        ("- {name: A, command: [true], provider: claude}", 'has "command" and "provider"'),
        ("- {name: A}", "nothing to do"),
        ("- {command: [true]}", "has no name"),
        ("- {name: A, command: [true], limits: {cpu: 1}}", 'step "A" has an unknown key "limits"'),
        ("- {name: A, command: make}", "a command must be a list of words"),
        ("- {name: A, command: [true], when: {sometimes: x}}", 'a condition has an unknown key "sometimes"'),
        ("- {name: A, command: [true], when: {}}", "no predicate"),
        ("- {name: A, command: [echo, '${user}']}", '"${user}" is not defined'),
        ("- {name: A, command: [echo, '${steps.A.colour}']}", '"${steps.A.colour}" is not defined'),
        ("- {name: A, command: [true], on: {success: {}}}", "has no goto, error or end"),
        ("- {name: A, command: [true], on: {success: {goto: _loop_continue}}}", "not inside a loop"),
        (
            "- {name: A, set_context: {x: '1'}}\n  - {name: A, set_context: {x: '2'}}",
            'two steps are named "A"',
        ),
        ("- {name: A, provider: claude}", "this provider has no prompt"),
        ("- {name: A, command: [true], when: {equals: {left: a}}}", 'has no "right"'),
        ("- {name: A, command: [true], when: {equals: {left: a, right: [b]}}}", "this value must be text"),
        (
            "- {name: A, command: [true], when: {number: {left: '1', op: '~', right: 2}}}",
            "is not a comparison",
        ),
        ("- {name: A, command: [true], when: {regex: {text: a, pattern: b, flags: x}}}", 'flag "x"'),
        (
            (
                "- name: A\n    for_each: {items: [a], steps: [{name: B, command: [true]}]}\n"
                "    on: {timeout: {goto: A}}"
            ),
            "cannot have a timeout",
        ),
    ],
)
def test_an_invalid_steps_format_file_is_refused_with_its_line(
    work: ScriptedProject, steps: str, fault: str
) -> None:
    with pytest.raises(ConfigurationError) as caught:
        work.run(work.write_workflow(f"{HEAD}steps:\n  {steps}\n"))
    assert fault in caught.value.message
    assert (
        "flow.yaml:4:" in caught.value.message
        or "flow.yaml:5:" in caught.value.message
        or "flow.yaml:6:" in (caught.value.message)
    )


def test_texts_are_split_at_references_and_written_again() -> None:
    """R044: dollar signs, templates of other tools, and no backslash escapes."""
    parts = split_references(r"a$$b ${ x } ${{ y }} \n")
    assert as_value(parts, lambda ref: f"<{ref.name}>") == r"a$b ${{ <x> }} $${{ y }} \n"
    assert as_prompt(split_references("{{ a }} ${x}"), lambda ref: ref.name) == "{{ '{{' }} a }} {{ x }}"
    assert as_expression((), lambda ref: ref.name) == "''"
    assert as_expression(split_references("it's ${x}"), lambda ref: ref.name) == "join([\"it's \", x], '')"


def test_names_become_native_names() -> None:
    assert [name_of(word) for word in ("NextStep", "cross-audit", "X-1", "2nd", "--")] == [
        "next_step",
        "cross_audit",
        "x_1",
        "x_2nd",
        "x",
    ]


LEFT = """
version: "1.0"
name: left
steps:
  - name: Loop
    LOOP
      steps:
        - {name: Try, command: [test, "${WHAT}", "!=", "2"], on: {failure: {goto: _loop_break}}}
        - {name: Then, command: [test, "${WHAT}", "!=", "BAD"]REST}
    on: {success: {goto: After}, failure: {error: the loop has failed}}
  - {name: After, command: [echo, after]}
"""
EACH = ("for_each:\n      items: ['1', '2', '3']", "item")
WHILE = ("while:\n      condition: {not: {file_exists: stop}}\n      max_iterations: MOST", "loop.iteration")


@pytest.mark.parametrize(
    ("loop", "most", "rest", "bad", "ended"),
    [
        (EACH, "", ", on: {failure: {error: no}}", "9", "passed"),
        (EACH, "", ", on: {failure: {error: no}}", "1", "failed"),
        (WHILE, "5", "", "9", "passed"),
        (WHILE, "5", ", on: {success: {goto: _loop_continue}, failure: {error: no}}", "1", "failed"),
        (WHILE, "1", "", "9", "failed"),
    ],
)
def test_the_run_continues_after_a_loop_left_by_a_handled_failure_but_not_after_a_failed_loop(  # a row each
    work: ScriptedProject, loop: tuple[str, str], most: str, rest: str, bad: str, ended: str
) -> None:
    text = LEFT.replace("LOOP", loop[0]).replace("WHAT", loop[1]).replace("MOST", most)
    run, state = work.run(work.write_workflow(text.replace("REST", rest).replace("BAD", bad)))
    assert status(state) == ended
    assert ("after" in steps_of(work.ended_steps(run))) is (ended == "passed")
