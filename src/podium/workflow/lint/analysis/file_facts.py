"""Facts about a whole file, computed once: types of inputs and variables, control flow, results of steps."""

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
from podium.workflow.lint.analysis.control_flow import Flow, flow_of, outcomes_at_end
from podium.workflow.lint.analysis.step_fields import Result, iteration_of, result_of
from podium.workflow.lint.analysis.survey import Block, FileSurvey, StepSite
from podium.workflow.prompts.prompt import Prompt, PromptError
from podium.workflow.schema.file import Input


class FileFacts:
    """Caches its answers, because many expressions need the same ones."""

    def __init__(self, survey: FileSurvey) -> None:
        self.survey = survey
        self._flows: dict[Block, Flow] = {}
        self._results: dict[StepSite, Result] = {}
        self.items: dict[StepSite, Type] = {}
        self.prompts: dict[tuple[str, str], Prompt | PromptError] = {}
        """Cached by text and name, because a role's prompt is checked in every step with that role."""

    def flow(self, block: Block) -> Flow:
        flow = self._flows.get(block)
        if flow is None:
            flow = self._flows[block] = flow_of(block, self.survey.sites_of[block])
        return flow

    def result(self, site: StepSite) -> Result:
        result = self._results.get(site)
        if result is None:
            item = self.items.get(site, ANY)
            result = self._results[site] = result_of(site, inner=self.inner(site), item=item)
        return result

    def iteration(self, site: StepSite) -> Result:
        return iteration_of(site, inner=self.inner(site))

    def inner(self, site: StepSite) -> Mapping[str, Type]:
        """The types of the steps of a block, as they can be read after the block passed."""
        block = self.block_in(site)
        if block is None:
            return {}
        return {
            inner.name: self.result(inner).readable_after(self.outcomes_at_end(block, inner))
            for inner in self.survey.sites_of[block]
        }

    def block_in(self, site: StepSite) -> Block | None:
        inside = self.survey.inside.get(site)
        return inside[0].block if inside else None

    def outcomes_at_end(self, block: Block, site: StepSite) -> frozenset[str]:
        """The outcomes that a step may have when its block is finished."""
        if block.kind == "seq":
            flow = self.flow(block)
            return flow.outcomes_at(flow.end, block.order[site.name])
        return outcomes_at_end(site)

    @cached_property
    def inputs(self) -> MapOf:
        inputs = self.survey.context.file.inputs
        return MapOf(MappingProxyType({name: _input_type(declared) for name, declared in inputs.items()}))

    @cached_property
    def setters(self) -> Mapping[str, tuple[StepSite, ...]]:
        """The steps that set each variable."""
        setters: dict[str, tuple[StepSite, ...]] = {}
        for site in self.survey.sites:
            for name in site.step.set_ or {}:
                setters[name] = (*setters.get(name, ()), site)
        return setters

    @cached_property
    def vars(self) -> Mapping[str, Type]:
        """The type of each variable, if all values assigned to it have the same type."""
        declared = self.survey.context.file.vars
        types = {name: literal_type(value) for name, value in declared.items()}
        for name, sites in self.setters.items():
            for site in sites:
                assigned = literal_type((site.step.set_ or {})[name])
                types[name] = join(types[name], assigned) if name in types else assigned
        return types


def _input_type(declared: Input) -> Type:
    if declared.has("default") and declared.default is None:
        return ANY
    words = declared.choices
    if declared.type == "string" and words and all(isinstance(word, str) for word in words):
        return Choice(tuple(words))
    return WORDS[declared.type]


def literal_type(value: Any) -> Type:
    """The type of a literal value; a value that is exactly one insert can become anything."""
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
    element = literal_type(values[0])
    for value in values[1:]:
        element = _either(element, literal_type(value))
    return ListOf(element)


def _either(first: Type, second: Type) -> Type:
    """The union of two types; fields that only one of two maps has are optional."""
    if not (isinstance(first, MapOf) and isinstance(second, MapOf)):
        return join(first, second)
    fields = dict(first.fields)
    for name, inner in second.fields.items():
        fields[name] = _either(fields[name], inner) if name in fields else inner
    only_one = frozenset(set(first.fields) ^ set(second.fields))
    return MapOf(MappingProxyType(fields), optional=first.optional | second.optional | only_one)
