"""A file around each part of the registers, and a value for each of its keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

Map = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Sample:
    document: Callable[[Map], Map]
    """A whole file with this mapping in the place of the part."""
    base: Map
    """What the part needs besides the key."""
    values: Mapping[str, Any]
