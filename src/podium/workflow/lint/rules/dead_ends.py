"""A reviewer's no that ends the run although nobody said so (40)."""

from __future__ import annotations

from collections.abc import Iterator

from podium.workflow.lint.analysis.survey import Site, Survey
from podium.workflow.problems import Problem


def check(survey: Survey) -> Iterator[Problem]:
    """A person who says no has decided; a reviewer that says no usually wants another round."""
    for site in survey.sites:
        if site.step.verb == "review" and "rejected" not in site.step.on and not _is_caught(site):
            message = f'rejection of "{site.name}" ends the run; route it with on: {{rejected: ...}}'
            yield site.warning(40, message=message)


def _is_caught(site: Site) -> bool:
    """Whether the step, or one around it, has an answer to its failure."""
    looped = site.step.for_each is not None and _catches(site)
    return looped or "else" in site.step.on or any(_catches(outer) for outer in list(site.around())[1:])


def _catches(site: Site) -> bool:
    on = site.step.on
    few = site.step.pass_ not in {None, "all"}
    return few or "failed" in on or "partial" in on or "else" in on
