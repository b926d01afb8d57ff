"""Compresses what is sent to the Temporal server and, with a key, encrypts it, so that the server stores nothing readable."""

from __future__ import annotations

import base64
import binascii
import json
import os
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from temporalio.api.common.v1 import Payload
from temporalio.converter import (
    BinaryNullPayloadConverter,
    BinaryProtoPayloadConverter,
    CompositePayloadConverter,
    DataConverter,
    DefaultFailureConverterWithEncodedAttributes,
    EncodingPayloadConverter,
    JSONProtoPayloadConverter,
    PayloadCodec,
)

from podium.errors import ConfigurationError

KEY_VARIABLE: Final = "PODIUM_ENCRYPTION_KEY"
COMPRESSED: Final = b"binary/podium-zlib"
ENCRYPTED: Final = b"binary/podium-aes-gcm"
SMALLEST: Final = 256
"""Bytes above which a payload is compressed."""
NONCE: Final = 12


class _OrderedJson(EncodingPayloadConverter):
    """JSON whose maps keep their order, which workflows can read; Temporal's own converter sorts the keys."""

    @property
    def encoding(self) -> str:
        return "json/plain"

    def to_payload(self, value: Any) -> Payload:
        data = json.dumps(value, separators=(",", ":")).encode("ascii")
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:  # all is JSON
        return json.loads(payload.data)


class _Converter(CompositePayloadConverter):
    def __init__(self) -> None:
        super().__init__(
            BinaryNullPayloadConverter(),
            JSONProtoPayloadConverter(),
            BinaryProtoPayloadConverter(),
            _OrderedJson(),
        )


class Codec(PayloadCodec):
    def __init__(self, key: bytes | None) -> None:
        self._key = key

    async def encode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._encoded(payload) for payload in payloads]

    async def decode(self, payloads: Sequence[Payload]) -> list[Payload]:
        return [self._decoded(payload) for payload in payloads]

    def _encoded(self, payload: Payload) -> Payload:
        plain = payload.SerializeToString()
        data, encoding = plain, b""
        if len(plain) > SMALLEST or self._key is not None:
            data, encoding = zlib.compress(plain, 6), COMPRESSED
        if self._key is not None:
            nonce = os.urandom(NONCE)
            data, encoding = nonce + _cipher(self._key).encrypt(nonce, data, None), ENCRYPTED
        return Payload(metadata={"encoding": encoding}, data=data) if encoding else payload

    def _decoded(self, payload: Payload) -> Payload:
        encoding, data = payload.metadata.get("encoding", b""), payload.data
        if encoding == ENCRYPTED:
            if self._key is None:
                raise ValueError(f"this run is encrypted; set {KEY_VARIABLE}")
            data, encoding = _cipher(self._key).decrypt(data[:NONCE], data[NONCE:], None), COMPRESSED
        if encoding != COMPRESSED:
            return payload
        return Payload.FromString(zlib.decompress(data))


def _cipher(key: bytes):  # type: ignore[no-untyped-def]  # the library is optional
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ImportError:
        raise ConfigurationError(
            "encryption needs the package cryptography", hint="pip install cryptography"
        ) from None
    return AESGCM(key)


def read_key(text: str | None) -> bytes | None:
    """The key from its text, 32 bytes in base64; None if there is none."""
    if not text:
        return None
    try:
        key = base64.b64decode(text, validate=True)
    except binascii.Error:
        key = b""
    if len(key) != 32:
        raise ConfigurationError(
            f"{KEY_VARIABLE} is not a key: 32 bytes in base64",
            hint="make one: head -c 32 /dev/urandom | base64",
        )
    return key


def is_encrypted(env: Mapping[str, str] = os.environ) -> bool:
    return bool(env.get(KEY_VARIABLE))


def converter(key: bytes | None) -> DataConverter:
    plain = replace(DataConverter.default, payload_converter_class=_Converter, payload_codec=Codec(key))
    if key is None:
        return plain
    # The messages of failures are payloads too.
    return replace(plain, failure_converter_class=DefaultFailureConverterWithEncodedAttributes)
