"""Builds and takes apart the addresses of instances.

    plan                 a step of the top block          implement~2       its second visit
    each[3]/test         a step of the third iteration    implement#2       the gates of its second attempt
    implement#2/tests    one of these gates      implement#2/qa    the member of the team that it asked               implement#3/!exhausted   the engine's own question

Without its numbers an address names the step in the file: each/test, implement#/tests.

Numbers count within the scope, never across the run; otherwise an address would depend on the order of completions.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from podium.core.types import Address

ROOT: Final = Address("")
FINALLY: Final = "finally"
ADVICE: Final = "!advice"
INPUTS: Final = "#inputs"
"""The key of a frame's inputs among its variables; a variable's name cannot contain `#`."""
_ENTRIES: Final = re.compile(r"~\d+|\[\d+\]")
_VISITS: Final = re.compile(r"~\d+")
_ATTEMPTS: Final = re.compile(r"(?<=#)\d+")
_NUMBERS: Final = re.compile(r"~\d+|\[\d+\]|(?<=#)\d+")


def child(scope: Address, name: str, visit: int = 1) -> Address:
    base = f"{scope}/{name}" if scope else name
    return Address(base if visit == 1 else f"{base}~{visit}")


def iteration(scope: Address, number: int, visit: int = 1) -> Address:
    return Address(f"{scope}[{number}]" if visit == 1 else f"{scope}[{number}]~{visit}")


def first_entry(path: Address, loops: Collection[Address]) -> Address:
    """The address of the first visit, in the first round of these loops; the items of other loops stay."""
    parts: list[str] = []
    end = 0
    for number in _ENTRIES.finditer(path):
        parts.append(path[end : number.start()])
        if number[0].startswith("["):
            parts.append("[1]" if path[: number.start()] in loops else number[0])
        end = number.end()
    return Address("".join((*parts, path[end:])))


def attempt(step: Address, number: int) -> Address:
    return Address(f"{step}#{number}")


def gates(step: Address) -> Address:
    """The address, without numbers, of the gates of a step."""
    return Address(f"{step}#")


def question(place: Address, name: str, number: int) -> Address:
    """The address of the engine's n-th question at a place; no step in a file can have a name with `!`."""
    return Address(f"{place}#{number}/!{name}" if place else f"#{number}/!{name}")


def without_numbers(path: Address) -> Address:
    """The address shared by all visits, iterations and attempts of a step; its typical cost is stored under it."""
    return Address(_NUMBERS.sub("", path))


def without_visits(path: Address) -> Address:
    """The address shared by all visits of a step and of the blocks around it; iterations stay apart."""
    return Address(_VISITS.sub("", path))


def without_attempts(path: Address) -> Address:
    """The address shared by the gates of all attempts of a step."""
    return Address(_ATTEMPTS.sub("", path))


def without_visit(path: Address) -> Address:
    """The address shared by all visits of a step; the step's own limits are counted under it."""
    head, tilde, tail = path.rpartition("~")
    return Address(head) if tilde and tail.isdecimal() else path
