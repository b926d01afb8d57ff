"""The steps format beyond its acceptance tests: loops, blocks, catch, conditions, names, and what is refused."""

from __future__ import annotations

import pytest

from podium.errors import ConfigurationError
from podium.workflow.dialects.steps.text import as_expression, as_prompt, as_value, parts_of
from podium.workflow.dialects.translation import name_of
from tests.dialects.kit import Stage, status, steps_of

HEAD = 'version: "1.0"\nname: My Flow\n'


@pytest.fixture
def work(stage: Stage) -> Stage:
    (stage.root / "workspace").mkdir()
    stage.write("workspace/data.txt", "seven\n")
    return stage


def test_a_loop_is_left_and_continued_by_its_special_targets(work: Stage) -> None:
    """R023, R054: what the body has handed to the loop is dealt with."""
    file = work.put(
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
    assert steps_of(work.story(run)) == [
        "each[1]/work",
        "each[1]",
        "each[2]/work",
        "each[2]",
        "each",
        "after",
    ]


@pytest.mark.req("R028")
def test_a_while_loop_asks_the_folder_again_each_round(work: Stage) -> None:
    """R055: work in the project itself changes files and no tree."""
    work.write("workspace/queue/1", "")
    work.write("workspace/queue/2", "")
    file = work.put(
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
    assert steps_of(work.story(run)).count("drain[1]/take") == 1
    assert steps_of(work.story(run))[-1] == "drain"
    assert "drain[3]/take" not in steps_of(work.story(run))


@pytest.mark.req("R028")
def test_context_is_set_listed_and_compared(work: Stage) -> None:
    """R046, R051, R052, R055."""
    file = work.put(
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
    assert work.artifacts(run)["use/said.txt"] == b"on main"


@pytest.mark.req("R028")
def test_a_catch_block_repairs_and_the_run_goes_on(work: Stage) -> None:
    """R056."""
    file = work.put(
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
    assert steps_of(work.story(run))[:3] == ["risky", "risky_catch/repair", "risky_catch"]
    assert work.artifacts(run)["last/right/twice.txt"] == b"seven\nseven"


def test_a_provider_without_an_agent_of_that_name_is_a_shim_on_the_path(work: Stage) -> None:
    """R059."""
    work.write(".podium/config.yaml", "limits: {unknown_cost: count_tokens}\n")
    file = work.put(
        HEAD + "steps:\n  - {name: Ask, provider: house, model: m1, max_tokens: 40, prompt: 'Say {{ hi }}'}\n"
    )
    run, state = work.run(file)
    assert status(state) == "passed"
    assert steps_of(work.story(run)) == ["ask"]
    native = work.convert(file).read_text()
    assert '[house-shim, "--model", "{model}", "--max-tokens", "40"]' in native
    assert "    model: m1\n" in native


def test_every_step_calls_its_shim_with_the_model_that_it_names(work: Stage) -> None:
    """Two steps of one provider are two calls, and a model may come from the context."""
    native = work.convert(
        work.put(
            HEAD + "context: {best: large}\nsteps:\n"
            "  - {name: One, provider: house, model: small, prompt: hi}\n"
            "  - {name: Two, provider: house, model: '${context.best}', prompt: hi}\n"
            "  - {name: Three, provider: house, prompt: hi}\n"
        )
    ).read_text()
    agents = 'house: {type: command, command: [house-shim, "--model", "{model}"]}\n  house_2: {type: command, command: [house-shim]}\n'
    assert agents in native
    told = [line.strip() for line in native.splitlines() if "agent: " in line or "model: " in line]
    assert told == [
        *("agent: house", "model: small"),
        *("agent: house", 'model: "${{ vars.best }}"'),
        "agent: house_2",
    ]


def test_a_command_reads_what_several_steps_have_left(work: Stage) -> None:
    make = "  - {name: NAME, command: [echo, NAME], output_file: out.txt}\n"
    read = "  - {name: All, command: [cat], input_files: [artifacts/One/out.txt, artifacts/Two/out.txt], output_file: all.txt}\n"
    run, state = work.run(
        work.put(HEAD + "steps:\n" + make.replace("NAME", "One") + make.replace("NAME", "Two") + read)
    )
    assert status(state) == "passed"
    assert work.artifacts(run)["all/all.txt"] == b"One\nTwo"


def test_what_a_provider_is_given_besides_its_prompt_is_its_context(work: Stage) -> None:
    for given in ("prompt: hi, input_files: [a.txt, b.txt]", "input_files: [p.md, a.txt, b.txt]"):
        native = work.convert(work.put(HEAD + f"steps:\n  - {{name: Ask, provider: claude, {given}}}\n"))
        assert "context: [workspace/a.txt, workspace/b.txt]" in native.read_text()


@pytest.mark.req("R028", "R045")
@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ("- {name: A, provider: house, max_tokens: '${context.n}', prompt: hi}", "max_tokens is a number"),
        (
            "- {name: A, command: [a], output_file: o}\n  - {name: B, command: [b], input_files: [artifacts/A/o, c]}",
            "are not read together",
        ),
        (
            "- {name: A, command: [a], output_file: o}\n  - {name: B, provider: claude, prompt: hi, input_file: artifacts/A/o}",
            "besides its prompt",
        ),
        ("- {name: A, command: [true], provider: claude}", 'has "command" and "provider"'),
        ("- {name: A}", "nothing to do"),
        ("- {command: [true]}", "needs a name"),
        ("- {name: A, command: [true], limits: {cpu: 1}}", 'step "A" has no key "limits"'),
        ("- {name: A, command: make}", "a command is a list of words"),
        ("- {name: A, command: [true], when: {sometimes: x}}", 'a condition has no key "sometimes"'),
        ("- {name: A, command: [true], when: {}}", "no predicate"),
        ("- {name: A, command: [echo, '${user}']}", '"${user}" names nothing'),
        ("- {name: A, command: [echo, '${steps.A.colour}']}", '"${steps.A.colour}" names nothing'),
        ("- {name: A, command: [true], on: {success: {}}}", "needs goto, error or end"),
        ("- {name: A, command: [true], on: {success: {goto: _loop_continue}}}", "outside of a loop"),
        (
            "- {name: A, set_context: {x: '1'}}\n  - {name: A, set_context: {x: '2'}}",
            'two steps are named "A"',
        ),
        ("- {name: A, provider: claude}", "a provider needs a prompt"),
        ("- {name: A, command: [true], when: {equals: {left: a}}}", 'needs "right"'),
        ("- {name: A, command: [true], when: {equals: {left: a, right: [b]}}}", "a text belongs here"),
        ("- {name: A, command: [true], when: {number: {left: '1', op: '~', right: 2}}}", "does not compare"),
        ("- {name: A, command: [true], when: {regex: {text: a, pattern: b, flags: x}}}", 'flag "x"'),
        (
            "- {name: A, for_each: {items: [a], steps: [{name: B, command: [true], on: {success: {end: true}}}]}}",
            "a loop cannot end the run",
        ),
        (
            (
                "- name: A\n    for_each: {items: [a], steps: [{name: B, command: [true]}]}\n"
                "    on: {timeout: {goto: A}}"
            ),
            "no time of its own",
        ),
    ],
)
def test_what_the_format_does_not_know_is_told_with_its_line(work: Stage, steps: str, fault: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        work.run(work.put(f"{HEAD}steps:\n  {steps}\n"))
    assert fault in caught.value.message
    assert (
        "flow.yaml:4:" in caught.value.message
        or "flow.yaml:5:" in caught.value.message
        or "flow.yaml:6:" in (caught.value.message)
    )


def test_texts_are_cut_at_references_and_written_anew() -> None:
    """R044: dollars, other people's templates, and no backslashes."""
    parts = parts_of(r"a$$b ${ x } ${{ y }} \n")
    assert as_value(parts, lambda ref: f"<{ref.name}>") == r"a$b ${{ <x> }} $${{ y }} \n"
    assert as_prompt(parts_of("{{ a }} ${x}"), lambda ref: ref.name) == "{{ '{{' }} a }} {{ x }}"
    assert as_expression((), lambda ref: ref.name) == "''"
    assert as_expression(parts_of("it's ${x}"), lambda ref: ref.name) == "join([\"it's \", x], '')"


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
def test_a_loop_that_is_left_because_of_a_failure_goes_on_and_one_that_fails_does_not(  # a row each
    work: Stage, loop: tuple[str, str], most: str, rest: str, bad: str, ended: str
) -> None:
    text = LEFT.replace("LOOP", loop[0]).replace("WHAT", loop[1]).replace("MOST", most)
    run, state = work.run(work.put(text.replace("REST", rest).replace("BAD", bad)))
    assert status(state) == ended
    assert ("after" in steps_of(work.story(run))) is (ended == "passed")
