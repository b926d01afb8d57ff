"""What is true of a whole file, worked out once: types of inputs and variables, ways through blocks, results."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Any

from podium.workflow.expressions.inference import join
from podium.workflow.expressions.parser import has_insert
from podium.workflow.expressions.types import (
    ANY,
    ANY_LIST,
    BOOL,
    INT,
    NUMBER,
    TEXT,
    WORDS,
    Choice,
    ListOf,
    MapOf,
    Type,
)
from podium.workflow.lint.analysis.control_flow import Flow, flow_of, outcomes_of_need
from podium.workflow.lint.analysis.step_fields import Result, iteration_of, result_of
from podium.workflow.lint.analysis.survey import Block, FileSurvey, StepSite
from podium.workflow.prompts.prompt import Prompt, PromptError
from podium.workflow.schema.file import Input


class FileFacts:
    """Answers are kept: many expressions ask the same things."""

    def __init__(self, survey: FileSurvey) -> None:
        self.survey = survey
        self._flows: dict[Block, Flow] = {}
        self._results: dict[StepSite, Result] = {}
        self.items: dict[StepSite, Type] = {}
        self.prompts: dict[tuple[str, str], Prompt | PromptError] = {}
        """A role is read in every step that plays it."""

    def flow(self, block: Block) -> Flow:
        found = self._flows.get(block)
        if found is None:
            found = self._flows[block] = flow_of(block, self.survey.sites_of[block])
        return found

    def result(self, site: StepSite) -> Result:
        found = self._results.get(site)
        if found is None:
            item = self.items.get(site, ANY)
            found = self._results[site] = result_of(site, inner=self.inner(site), item=item)
        return found

    def round(self, site: StepSite) -> Result:
        return iteration_of(site, inner=self.inner(site))

    def inner(self, site: StepSite) -> Mapping[str, Type]:
        """The steps of a block, as they can be read when it has passed."""
        block = self.block_in(site)
        if block is None:
            return {}
        return {
            inner.name: self.result(inner).seen(self.at_end(block, inner), fragile=False)
            for inner in self.survey.sites_of[block]
        }

    def block_in(self, site: StepSite) -> Block | None:
        inside = self.survey.inside.get(site)
        return inside[0].block if inside else None

    def at_end(self, block: Block, site: StepSite) -> frozenset[str]:
        """How a step may have ended when its block is finished."""
        if block.kind == "seq":
            flow = self.flow(block)
            return flow.outcomes_at(flow.end, block.order[site.name])
        return outcomes_of_need(site)

    @cached_property
    def inputs(self) -> MapOf:
        found = self.survey.context.file.inputs
        return MapOf(MappingProxyType({name: _input_type(given) for name, given in found.items()}))

    @cached_property
    def setters(self) -> Mapping[str, tuple[StepSite, ...]]:
        """The steps that change each variable."""
        found: dict[str, tuple[StepSite, ...]] = {}
        for site in self.survey.sites:
            for name in site.step.set_ or {}:
                found[name] = (*found.get(name, ()), site)
        return found

    @cached_property
    def vars(self) -> Mapping[str, Type]:
        """A variable has a type if everything that is put into it has the same."""
        declared = self.survey.context.file.vars
        found = {name: literal_type(value) for name, value in declared.items()}
        for name, sites in self.setters.items():
            for site in sites:
                given = literal_type((site.step.set_ or {})[name])
                found[name] = join(found[name], given) if name in found else given
        return found


def _input_type(given: Input) -> Type:
    if given.has("default") and given.default is None:
        return ANY
    words = given.choices
    if given.type == "string" and words and all(isinstance(word, str) for word in words):
        return Choice(tuple(words))
    return WORDS[given.type]


def literal_type(value: Any) -> Type:
    """Of a value as it is written; one that is exactly one insert can become anything."""
    match value:
        case str() if has_insert(value):
            return ANY if _is_one_insert(value) else TEXT
        case str():
            return TEXT
        case bool():
            return BOOL
        case int():
            return INT
        case float():
            return NUMBER
        case list() | tuple():
            return _list_type(value)
        case Mapping():
            return MapOf(MappingProxyType({str(key): literal_type(item) for key, item in value.items()}))
        case _:
            return ANY


def _is_one_insert(text: str) -> bool:
    return text.startswith("${{") and text.endswith("}}") and text.count("${{") == 1


def _list_type(values: Any) -> Type:
    if not values:
        return ANY_LIST
    found = literal_type(values[0])
    for value in values[1:]:
        found = _either(found, literal_type(value))
    return ListOf(found)


def _either(first: Type, second: Type) -> Type:
    """Of two maps, what both have is certain and what one has may be absent."""
    if not (isinstance(first, MapOf) and isinstance(second, MapOf)):
        return join(first, second)
    fields = dict(first.fields)
    for name, inner in second.fields.items():
        fields[name] = _either(fields[name], inner) if name in fields else inner
    only_one = frozenset(set(first.fields) ^ set(second.fields))
    return MapOf(MappingProxyType(fields), optional=first.optional | second.optional | only_one)
