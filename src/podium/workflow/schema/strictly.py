"""Reads a file that is no workflow into typed values; every mistake is named by line, all at once."""

from __future__ import annotations

from typing import Any, TypeVar

from podium.errors import ConfigurationError
from podium.workflow.problems import Problem
from podium.workflow.schema.fields import Raw
from podium.workflow.schema.reader import read
from podium.workflow.source.yaml import Document

Model = TypeVar("Model", bound=Raw)


def read_strictly(model: type[Model], document: Document, *, under: str | None = None) -> Model:
    """`under` is the key that a file may leave out, if it holds nothing but that list."""
    listed = under is not None and isinstance(document.value, list)
    whole: Any = {under: document.value} if listed else document.value or {}
    problems = list(document.problems)
    if not problems:
        reading = read(model, whole, source=lambda path: document.source(path[1:] if listed else path))
        for fault in reading.faults:
            at = document.position(fault.path[1:] if listed else fault.path, key=fault.key)
            problems.append(Problem(document.name, at.line, at.col, fault.rule, fault.message, fault.hint))
        if reading.value is not None and not problems:
            return reading.value
    raise ConfigurationError("\n".join(problem.render() for problem in problems))
