"""The pins must install anywhere: each with its hashes, none tied to an index or to the machine that made them."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PIN = re.compile(r"^([A-Za-z0-9._-]+)(?:\[[^]]*])?==\S+", re.MULTILINE)
NAME = re.compile(r"^[A-Za-z0-9._-]+", re.MULTILINE)


def pinned(text: str) -> set[str]:
    return {name.lower().replace("_", "-") for name in PIN.findall(text)}


@pytest.mark.parametrize("name", ["base.txt", "demo.txt", "dev.txt"])
def test_every_pin_has_a_hash_and_names_no_place(name: str) -> None:
    text = (ROOT / "requirements" / name).read_text("utf-8")

    entries = [entry for entry in re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE) if PIN.match(entry)]

    assert entries
    assert all("--hash=sha256:" in entry for entry in entries)
    assert not re.search(r"://|index-url|find-links|(?<![\w.])/\w", text)


def test_the_pins_cover_what_the_project_declares() -> None:
    """A dependency added without `make pins` would be missing on a fresh clone."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    runtime = {NAME.findall(entry)[0].lower() for entry in project["dependencies"]}
    tools = {name.lower() for name in NAME.findall((ROOT / "requirements" / "dev.in").read_text("utf-8"))}
    base = pinned((ROOT / "requirements" / "base.txt").read_text("utf-8"))
    dev = pinned((ROOT / "requirements" / "dev.txt").read_text("utf-8"))

    assert runtime <= base <= dev
    assert tools <= dev


@pytest.mark.req("C46")
def test_linux_is_promised_and_windows_is_not() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    systems = [entry for entry in project["classifiers"] if entry.startswith("Operating System")]

    assert systems == ["Operating System :: POSIX :: Linux"]
    assert "on Linux" in (ROOT / "CONTRIBUTING.md").read_text("utf-8")
