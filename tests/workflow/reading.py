"""Documents for tests of the schema, and the messages about them."""

from __future__ import annotations

from typing import Any

from podium.workflow.schema.file import File
from podium.workflow.schema.reader import FieldFault, read_file
from podium.workflow.schema.verb_keys import check_file


def file_with(**steps: Any) -> dict[str, Any]:
    return {"podium": 1, "steps": steps}


def read_valid(data: dict[str, Any]) -> File:
    reading = read_file(data)
    assert reading.faults == ()
    assert reading.value is not None
    assert list(check_file(reading.value, frozenset())) == []
    return reading.value


def faults_of(data: Any) -> list[FieldFault]:
    reading = read_file(data)
    actual = list(reading.faults)
    if reading.value is not None:
        actual += check_file(reading.value, reading.broken)
    return actual


def messages(data: Any) -> list[tuple[int, str]]:
    return [(fault.rule, fault.message) for fault in faults_of(data)]


def messages_of_step(**keys: Any) -> list[tuple[int, str]]:
    return messages(file_with(fix=keys))
