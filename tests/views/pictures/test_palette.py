"""The colours of statuses: readable on their ground, and apart for colour-blind eyes as well."""

from __future__ import annotations

from itertools import combinations
from math import sqrt
from typing import Final, TypeAlias

import pytest

from podium.views.pictures.svg import TONES

Colour: TypeAlias = tuple[float, float, float]
Matrix: TypeAlias = tuple[Colour, Colour, Colour]

# How eyes without one kind of cones see linear RGB: Machado, Oliveira and Fernandes 2009, severity 1.
EYES: Final[dict[str, Matrix]] = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
COLOURED: Final = ("passed", "failed", "running", "waiting")
SCHEMES: Final = {"light": 0, "dark": 1}


def linear(text: str) -> Colour:
    parts = [int(text[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return r, g, b


def luminance(text: str) -> float:
    r, g, b = linear(text)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def seen(text: str, eye: Matrix) -> Colour:
    rgb = linear(text)
    r, g, b = (min(1, max(0, sum(m * c for m, c in zip(row, rgb, strict=True)))) for row in eye)
    return lab((r, g, b))


def lab(rgb: Colour) -> Colour:
    r, g, b = rgb
    x = (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505
    y = 0.2126 * r + 0.7152 * g + 0.0722 * b
    z = (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089
    fx, fy, fz = (part ** (1 / 3) if part > 0.008856 else 7.787 * part + 16 / 116 for part in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def distance(one: Colour, other: Colour) -> float:
    return sqrt(sum((a - b) ** 2 for a, b in zip(one, other, strict=True)))


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("tone", TONES)
def test_a_status_is_readable_on_its_ground(tone: str, scheme: str) -> None:
    text, ground = TONES[tone][SCHEMES[scheme]]

    assert contrast(text, ground) >= 4.5


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("pair", list(combinations(COLOURED, 2)), ids="-".join)
def test_two_statuses_differ_for_every_kind_of_eye(pair: tuple[str, str], eye: str, scheme: str) -> None:
    one, other = (seen(TONES[tone][SCHEMES[scheme]][0], EYES[eye]) for tone in pair)

    assert distance(one, other) >= 20
