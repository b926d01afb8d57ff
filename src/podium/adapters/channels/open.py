"""Makes the channel that settings describe, with the addresses that the environment holds."""

from __future__ import annotations

import re
from typing import Final

from podium.adapters.channels.program import CommandChannel, DesktopChannel
from podium.adapters.channels.service import ServiceChannel
from podium.adapters.channels.webhook import WebhookChannel
from podium.ports.channel import Channel, ChannelError, ChannelMessage, ChannelSettings, Env

_INSERT: Final = re.compile(r"\$\{\{ *env\.([A-Za-z_][A-Za-z0-9_]*) *\}\}")


def open_channel(settings: ChannelSettings, env: Env) -> Channel:
    missing = [name for name in variables_of(settings) if not env.get(name)]
    if missing:
        return _Unset(missing[0])
    match settings.form:
        case "webhook":
            return WebhookChannel(_filled(settings.webhook, env), env[settings.secret])
        case "desktop":
            return DesktopChannel(env)
        case "command":
            return CommandChannel(settings.command, env)
        case _:
            return ServiceChannel(_filled(settings.url, env))


def variables_of(settings: ChannelSettings) -> tuple[str, ...]:
    """The variables of the environment that its address is made of."""
    named = _INSERT.findall(settings.url + settings.webhook)
    return (*named, *((settings.secret,) if settings.secret else ()))


def _filled(address: str, env: Env) -> str:
    return _INSERT.sub(lambda match: env[match[1]], address)


class _Unset:
    def __init__(self, name: str) -> None:
        self._name = name

    def fault(self) -> str:
        return f"{self._name} is not set in the environment"

    def send(self, message: ChannelMessage) -> None:
        raise ChannelError(self.fault())
