"""Mail, chat and push services, by the address of the library apprise."""

from __future__ import annotations

import logging
import warnings
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from podium.ports.channel import ChannelError, ChannelMessage

if TYPE_CHECKING:
    import apprise

TIMEOUT_S: Final = 8.0
MISSING: Final = 'services need the library apprise: pip install "podium[notify]"'

UNKNOWN: Final = "its address is not one that apprise knows"


class ServiceChannel:
    def __init__(self, url: str) -> None:
        self._url = url

    def fault(self) -> str:
        if find_spec("apprise") is None:
            return MISSING
        return "" if self._service() is not None else UNKNOWN

    def send(self, message: ChannelMessage) -> None:
        if find_spec("apprise") is None:
            raise ChannelError(MISSING)
        service = self._service()
        if service is None:
            raise ChannelError(UNKNOWN)
        import apprise

        # A line break in a title could start another header; it is a space in every service.
        title = " ".join(message.title.split())
        # Services have no field for an id, by which a person could see that a message came twice.
        body = f"{message.body}\nmessage {message.id}"
        if not service.notify(body=body, title=title, body_format=apprise.NotifyFormat.TEXT):
            raise ChannelError("the service did not accept the message")

    def _service(self) -> apprise.NotifyBase | None:
        # Some of its 180 services use modules that this Python warns about.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)
            import apprise

            # Its log has the address, and so the password.
            logging.getLogger("apprise").setLevel(logging.CRITICAL + 1)
            asset = apprise.AppriseAsset(
                app_id="Podium",
                app_desc="Podium",
                app_url="",
                plugin_paths=[],
                service_timeout=TIMEOUT_S,
                storage_mode=apprise.PersistentStoreMode.MEMORY,
            )
            try:
                service = apprise.Apprise.instantiate(self._url, asset=asset, suppress_exceptions=True)
            except (TypeError, ValueError):
                return None
            return service if isinstance(service, apprise.NotifyBase) else None
