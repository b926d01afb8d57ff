"""Places of a file where names are read, and what stands around them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from podium.core.fast_dataclass import dataclass
from podium.workflow.lint.analysis.file_facts import FileFacts
from podium.workflow.lint.analysis.survey import StepSite
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Gate
from podium.workflow.workers import workers_of

Place: TypeAlias = Literal[
    "top", "outputs", "policy", "shared", "whole", "items", "inside", "until", "while", "after", "result"
]
"""Outside of steps: `shared` is a role or a gate that any step may use. In a step: `whole` is outside of its own loop, `items` decides what the loop goes over, `until` and `while`
are its tests, `after` is when it has ended, `result` picks what a block gives."""


@dataclass(frozen=True, slots=True)
class Scope:
    """`gate` is set inside a gate, `role` for the texts of a role; without a `site` it is the file itself."""

    know: FileFacts
    site: StepSite | None
    place: Place
    gate: Gate | None = None
    role: Role | None = None

    @property
    def label(self) -> str:
        """How messages call the reader."""
        return self.site.name if self.site is not None else self.place

    @property
    def sites(self) -> tuple[StepSite, ...]:
        """The step and those it stands in, the innermost first."""
        return tuple(self.site.around()) if self.site is not None else ()

    @property
    def is_in_finally(self) -> bool:
        return bool(self.sites) and self.sites[-1].block.part == "finally"

    def loops(self) -> Iterator[StepSite]:
        """The loops whose iteration this is, the innermost first."""
        for site in self.sites:
            inside = site is not self.site or self.place in {"inside", "until", "while", "result"}
            if inside and (site.step.for_each is not None or site.step.repeat is not None):
                yield site

    def env_names(self) -> Iterator[str]:
        entries = [*self.know.survey.context.file.env]
        entries += [entry for site in self.sites for entry in site.step.env]
        entries += self.gate.env if self.gate is not None else ()
        return (entry.partition("=")[0] for entry in entries)

    def is_member(self) -> bool:
        """Whether one of several in a list reads."""
        judges = (self.gate.review,) if self.gate is not None else ()
        steps = (self.site.step,) if self.site is not None else ()
        lists = [*judges, *(names for step in steps for names in (step.role, step.agent, step.review))]
        return any(isinstance(names, tuple) for names in lists)

    def is_in_team(self) -> bool:
        """Whether a message may have arrived: for the leader, and for who plays the role of a member."""
        if self.site is None or self.site.step.verb != "agent":
            return False
        sites = self.know.survey.sites
        members = {member.role for site in sites for member in (site.step.team or {}).values()}
        played = {worker.role for worker in workers_of(self.site.context, self.site.step)} - {None}
        return self.site.step.team is not None or bool(played & members)
