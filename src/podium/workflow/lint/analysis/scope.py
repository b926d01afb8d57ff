"""A place of a file where names are read, and its surroundings."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, TypeAlias

from podium.fast_dataclass import dataclass
from podium.workflow.lint.analysis.file_facts import FileFacts
from podium.workflow.lint.analysis.survey import StepSite
from podium.workflow.schema.file import Role
from podium.workflow.schema.step import Gate
from podium.workflow.workers import workers_of

Place: TypeAlias = Literal[
    "top",
    "outputs",
    "subject",
    "policy",
    "shared",
    "whole",
    "items",
    "inside",
    "until",
    "while",
    "after",
    "after_failure",
    "result",
]
"""Outside of steps: `subject` is evaluated before the run starts, `shared` is a role or a gate that any step may use. In a step: `whole` is outside its own loop,
`items` selects the items of the loop, `until` and `while` are its tests, `after` is when it has ended, `after_failure` when it
has failed, `result` selects the result of a block."""


@dataclass(frozen=True, slots=True)
class Scope:
    """`gate` is set inside a gate, `role` for the texts of a role; `site` is None for the file itself."""

    facts: FileFacts
    site: StepSite | None
    place: Place
    gate: Gate | None = None
    role: Role | None = None

    @property
    def label(self) -> str:
        """The name of the reader in messages."""
        return self.site.name if self.site is not None else self.place

    @property
    def sites(self) -> tuple[StepSite, ...]:
        """The step and the steps around it, the innermost first."""
        return tuple(self.site.around()) if self.site is not None else ()

    @property
    def is_in_finally(self) -> bool:
        return bool(self.sites) and self.sites[-1].block.part == "finally"

    def loops(self) -> Iterator[StepSite]:
        """The loops around this place, the innermost first."""
        for site in self.sites:
            inside = site is not self.site or self.place in {"inside", "until", "while", "result"}
            if inside and (site.step.for_each is not None or site.step.repeat is not None):
                yield site

    def env_names(self) -> Iterator[str]:
        entries = [*self.facts.survey.context.file.env]
        entries += [entry for site in self.sites for entry in site.step.env]
        entries += self.gate.env if self.gate is not None else ()
        return (entry.partition("=")[0] for entry in entries)

    def is_member(self) -> bool:
        """Whether the reader is one of several members."""
        judges = (self.gate.review,) if self.gate is not None else ()
        steps = (self.site.step,) if self.site is not None else ()
        lists = [*judges, *(names for step in steps for names in (step.role, step.agent, step.review))]
        is_panel = self.gate is None and any(step.panel_key for step in steps)
        return is_panel or any(isinstance(names, tuple) for names in lists)

    def is_in_team(self) -> bool:
        """Whether a message may have arrived: for the leader of a team and for steps with the role of a member."""
        if self.site is None or self.site.step.verb != "agent":
            return False
        sites = self.facts.survey.sites
        members = {member.role for site in sites for member in (site.step.team or {}).values()}
        roles = {worker.role for worker in workers_of(self.site.context, self.site.step)} - {None}
        return self.site.step.team is not None or bool(roles & members)
