"""The channels that the configuration of the user and of the project defines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

from podium.errors import ConfigurationError
from podium.files.project_paths import STATE_DIR
from podium.ports.channel import ChannelSettings
from podium.workflow.merge.channels import channels_in
from podium.workflow.problems import mistakes
from podium.workflow.schema.channels import Channel

DEFAULT_KINDS: Final = ("asked", "reminded", "escalated", "vetoable", "failed", "limited", "stuck")
CONFIG: Final = "config.yaml"


def read_channels(root: Path, user_dir: Path | None) -> Mapping[str, ChannelSettings]:
    """By name; the project's definition replaces the user's of the same name, and a list of names selects from the user's.

    Raises with all mistakes.
    """
    folders = [*([] if user_dir is None else [user_dir]), root / STATE_DIR]
    channels: dict[str, ChannelSettings] = {}
    for folder in folders:
        written, problems = channels_in(folder / CONFIG)
        if problems:
            raise mistakes(problems, ConfigurationError)
        if isinstance(written, tuple):
            channels = {name: channel for name, channel in channels.items() if name in written}
        else:
            channels |= {name: _settings(name, channel) for name, channel in written.items()}
    return MappingProxyType(channels)


def _settings(name: str, channel: Channel) -> ChannelSettings:
    return ChannelSettings(
        name=name,
        url=channel.url or "",
        webhook=channel.webhook or "",
        secret=channel.secret or "",
        desktop=bool(channel.desktop),
        command=channel.command or (),
        on=DEFAULT_KINDS if channel.on is None else tuple(channel.on),
        recipients=channel.for_,
        quiet=channel.quiet or "",
        digest=channel.digest or "",
    )


def chosen_channels(
    channels: Mapping[str, ChannelSettings],
    kind: str,
    *,
    named: tuple[str, ...] | None,
    people: tuple[str, ...],
    groups: Mapping[str, tuple[str, ...]],
) -> Iterator[ChannelSettings]:
    """The channels that one message goes to. `people` are those who may answer; empty for anyone."""
    for channel in channels.values():
        wants = "all" in channel.on or kind in channel.on
        if wants and (named is None or channel.name in named) and _concerns(channel, people, groups):
            yield channel


def _concerns(
    channel: ChannelSettings, people: tuple[str, ...], groups: Mapping[str, tuple[str, ...]]
) -> bool:
    if not channel.recipients or not people:
        return True
    return bool(_members(channel.recipients, groups) & _members(people, groups))


def _members(names: tuple[str, ...], groups: Mapping[str, tuple[str, ...]]) -> frozenset[str]:
    return frozenset(person for name in names for person in (name, *groups.get(name, ())))
