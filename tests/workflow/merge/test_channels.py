"""The channels of one configuration file, read on their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.workflow.dialects.supervisor.translate_files import NATIVE_ADAPTIVE
from podium.workflow.merge.channels import channels_in
from podium.workflow.schema.fields import known_keys
from podium.workflow.schema.parts import Adaptive
from podium.workflow.schema.reader import read


def read_channels(folder: Path, text: str) -> tuple[object, list[str]]:
    file = folder / "config.yaml"
    file.write_text(text)
    channels, problems = channels_in(file)
    return channels, [problem.message for problem in problems]


def test_a_missing_file_and_one_without_channels_define_none(tmp_path: Path) -> None:
    assert channels_in(tmp_path / "config.yaml") == ({}, ())
    assert read_channels(tmp_path, "limits: {usd: 5}\n") == ({}, [])


def test_other_keys_of_the_file_are_not_read(tmp_path: Path) -> None:
    text = "limts: {usd: 5}\nnotify: {phone: {url: x, quiet: '22:00-07:00 Europe/Berlin', digest: '08:00'}}\n"

    channels, problems = read_channels(tmp_path, text)

    assert isinstance(channels, dict)
    assert (channels["phone"].quiet, channels["phone"].digest) == ("22:00-07:00 Europe/Berlin", "08:00")
    assert problems == []


def test_a_list_names_the_channels_to_use(tmp_path: Path) -> None:
    assert read_channels(tmp_path, "notify: [phone]\n") == (("phone",), [])


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ("quiet: '22:00'", '"quiet" must be a time of day until another one'),
        ("quiet: '22:00-22:00'", '"quiet" must be a time of day until another one'),
        ("quiet: '22:00-25:00'", '"quiet" must be'),
        ("digest: 0s", '"digest" must be a time of day such as "08:00", or a duration'),
        ("digest: '08:00 Mars/Base'", '"digest" must be a time zone that this machine knows'),
    ],
)
def test_a_time_that_is_none_is_reported(tmp_path: Path, settings: str, problem: str) -> None:
    _, problems = read_channels(tmp_path, f"notify: {{phone: {{url: x, {settings}}}}}\n")

    assert [each.startswith(problem) for each in problems] == [True], problems


def test_a_file_that_is_no_yaml_defines_none(tmp_path: Path) -> None:
    channels, problems = read_channels(tmp_path, "notify: [\n")

    assert (channels, len(problems)) == ({}, 1)


def test_durations_may_be_a_digest(tmp_path: Path) -> None:
    channels, _ = read_channels(tmp_path, "notify: {phone: {url: x, digest: 2h}}\n")

    assert isinstance(channels, dict)
    assert channels["phone"].digest == "2h"


@pytest.mark.parametrize(
    "value",
    [
        {"weights": {"success": 0.6, "cost": 0.4}, "explore": {"first": 0.2, "later": 0}, "last": "1h"},
        {"policy": "thompson", "last": "1h"},
    ],
)
def test_the_settings_that_are_written_are_told_from_the_others(value: dict[str, object]) -> None:
    adaptive = read(Adaptive, value).value

    assert adaptive is not None
    assert adaptive.written == {**value, "last": 3_600_000}


def test_the_other_format_leaves_the_native_keys_of_adaptive_alone() -> None:
    assert frozenset(known_keys(Adaptive)) == NATIVE_ADAPTIVE
