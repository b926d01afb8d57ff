"""The steps format: the keys of its head, and the values that texts may insert."""

from __future__ import annotations

import json

import pytest

from podium.errors import ConfigurationError
from tests.workflow.dialects.kit import ScriptedProject, status

TELL = "import os; print(os.environ.get('DEMO_KEY', 'none'), os.environ.get('OTHER_KEY', 'none'))"


@pytest.fixture
def work(project: ScriptedProject) -> ScriptedProject:
    project.write("workspace/data.txt", "seven\n")
    return project


@pytest.mark.req("R018")
def test_every_key_of_the_head_has_an_effect(work: ScriptedProject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_KEY", "s3cret-of-the-demo")
    monkeypatch.setenv("OTHER_KEY", "an0ther-one-entirely")
    text = f"""
version: "1.0"
name: Head
strict_flow: true
context: {{who: Ada}}
secrets: [DEMO_KEY]
steps:
  - name: Say
    command: [echo, "${{context.who}}"]
    output_file: said.txt
    on: {{success: {{goto: Keys}}, failure: {{error: no}}}}
  - name: Keys
    command: [python3, -c, {json.dumps(TELL)}]
    output_file: keys.txt
    on: {{success: {{goto: _end}}, failure: {{error: no}}}}
"""
    run, state = work.run(work.write_workflow(text))
    assert status(state) == "passed"
    assert work.view(run).workflow == "head"
    assert work.artifacts(run) == {"say/said.txt": b"Ada\n", "keys/keys.txt": b"*** none\n"}
    with pytest.raises(ConfigurationError, match='strict_flow: step "Say" has no transition for success'):
        work.run(work.write_workflow(text.replace("success: {goto: Keys}, ", "")))
    with pytest.raises(ConfigurationError, match=r'flow\.yaml:2:.*version "2\.0"'):
        work.run(work.write_workflow(text.replace('"1.0"', '"2.0"')))


@pytest.mark.req("R041", "C24")
def test_values_are_inserted_everywhere_except_in_the_head(work: ScriptedProject) -> None:
    text = """
version: "1.0"
name: "${context.who}"
context: {who: Ada, file: data}
steps:
  - name: Note
    set_context: {deep: {list: ["for ${context.who}"]}}
  - name: Each
    for_each: {items: ["${context.who}", Bob], steps: [{name: Greet, command: [test, "${item}", "!=", Eve]}]}
  - name: Copy
    command: [sh, -c, "cat; echo $0 $1", "${context.who}", "${context.deep}"]
    input_file: "${context.file}.txt"
    output_file: "${context.who}.txt"
  - name: Ask
    provider: claude
    model: "for-${context.who}"
    prompt: "Write to ${context.who}."
    on: {failure: {error: "${context.who} is not there"}}
"""
    cast = "- {match: {step: ask, prompt: Write to Ada.}, error: auth}\n"
    run, state = work.run(work.write_workflow(text, cast=cast))
    assert work.artifacts(run)["copy/Ada.txt"] == b'seven\nAda {"list": ["for Ada"]}\n'
    assert [row.result["model"] for row in work.view(run).steps if row.step == "ask"] == ["for-Ada"]
    assert state.ended is not None
    assert state.ended.message == "Ada is not there"
    assert work.view(run).workflow == "context_who"


@pytest.mark.req("R042")
def test_loop_items_results_context_and_environment_have_separate_names(
    work: ScriptedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WHO", "of-the-environment")
    monkeypatch.setenv("HIDDEN", "not-allowed")
    text = """
version: "1.0"
name: names
context: {who: of-the-context}
env: [WHO]
steps:
  - {name: who, command: [echo, of-the-step]}
  - name: Each
    for_each:
      items: [a, b]
      as: who
      steps:
        - name: Tell
          command: [echo, "${who}", "${context.who}", "${env.WHO}", "${steps.who.output}", "${steps.who.exit_code}",
                    "${loop.index}", "${loop.iteration}", "${loop.total}"]
          output_file: told.txt
        - {name: Time, command: [echo, "${loop.elapsed}", "${steps.who.duration}"], output_file: time.txt}
"""
    run, state = work.run(work.write_workflow(text))
    assert status(state) == "passed"
    artifacts = work.artifacts(run)
    same = "of-the-context of-the-environment of-the-step 0"
    for name, place in (("a", "0 1 2"), ("b", "1 2 2")):
        assert f"{name} {same} {place}\n".encode() in artifacts.values()
    times = [value.split() for path, value in artifacts.items() if path.endswith("time.txt")]
    assert all(float(word) >= 0 for words in times for word in words)
    with pytest.raises(ConfigurationError, match="HIDDEN"):
        work.run(work.write_workflow(text.replace("${env.WHO}", "${env.HIDDEN}")))


def test_conditions_compare_texts_and_the_flag_i_does_not_change_the_pattern(work: ScriptedProject) -> None:
    """Lower-casing the pattern would turn `\\S`, a non-blank, into `\\s`, a blank."""
    text = """
version: "1.0"
name: texts
steps:
  - {name: Say, command: [echo, "Hello X"]}
  - {name: Code, command: [echo, yes], when: {equals: {left: "${steps.Say.exit_code}", right: "0"}}}
  - {name: Keep, set_context: {code: "${steps.Say.exit_code}", told: "code ${steps.Say.exit_code}"}}
  - {name: Kept, command: [echo, yes], when: {equals: {left: "${context.code}", right: "0"}}}
  - {name: Told, command: [echo, yes], when: {equals: {left: "${context.told}", right: "code 0"}}}
  - {name: Number, command: [echo, yes], when: {number: {left: "${steps.Say.exit_code}", op: "<", right: 1}}}
  - {name: Any, command: [echo, yes], when: {regex: {text: "${steps.Say.output}", pattern: '^hello\\sx$', flags: i}}}
  - {name: Not, command: [echo, no], when: {regex: {text: "${steps.Say.output}", pattern: 'hello\\S', flags: i}}}
  - name: Each
    for_each: {items: [a, b], steps: [{name: First, command: [echo, yes], when: {equals: {left: "${loop.index}", right: "0"}}}]}
"""
    run, state = work.run(work.write_workflow(text))
    assert status(state) == "passed"
    skipped = [step for step, _, outcome in work.ended_steps(run) if outcome == "skipped"]
    assert skipped == ["not", "each[2]/first"]
