"""The images among the files of `context`, which an agent that takes images gets next to its prompt."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from podium.attempt.prompt.tree_files import TreeFiles
from podium.errors import ConfigurationError
from podium.ports.agent import ImageInput

MAX_IMAGES: Final = 20
MAX_IMAGE_BYTES: Final = 3 * 1024 * 1024
"""About 4 MiB as text, which the APIs of all vendors take."""
SUFFIXES: Final = (".png", ".jpg", ".jpeg", ".gif", ".webp")


def images_among(files: TreeFiles, paths: Iterable[str]) -> tuple[ImageInput, ...]:
    """Raises ConfigurationError if there are too many images, or one is too large."""
    named = [path for path in paths if path.lower().endswith(SUFFIXES)]
    images = tuple(
        ImageInput(path, kind, content)
        for path, content in files.read(named)
        if (kind := _kind(content)) is not None
    )
    if len(images) > MAX_IMAGES:
        raise ConfigurationError(
            f"context names {len(images)} images, and a prompt may have {MAX_IMAGES}",
            hint="let context.include name fewer, or exclude some",
        )
    for image in images:
        if len(image.content) > MAX_IMAGE_BYTES:
            raise ConfigurationError(
                f"{image.path} has {len(image.content)} bytes, and an image may have {MAX_IMAGE_BYTES}",
                hint="make it smaller, or add it to context.exclude",
            )
    return images


def _kind(content: bytes) -> str | None:
    """The media type, by the first bytes; a name proves nothing."""
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        return "image/png"
    if content.startswith(b"\xff\xd8\xff"):
        return "image/jpeg"
    if content.startswith((b"GIF87a", b"GIF89a")):
        return "image/gif"
    return "image/webp" if content[:4] == b"RIFF" and content[8:12] == b"WEBP" else None
