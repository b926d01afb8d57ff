"""Connects to a Temporal server. What the address does not say, such as keys and certificates, comes from the environment
and the configuration file that Temporal's own tools read."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from temporalio.api.enums.v1 import IndexedValueType
from temporalio.api.operatorservice.v1 import AddSearchAttributesRequest, ListSearchAttributesRequest
from temporalio.client import Client
from temporalio.envconfig import ClientConfig
from temporalio.service import RPCError

from podium.errors import ConfigurationError
from podium.temporal.payloads import KEY_VARIABLE, converter, read_key
from podium.temporal.protocol import STATUS_ATTRIBUTE, WAITS_FOR_ATTRIBUTE, unreachable

SCHEME: Final = "temporal://"
_ADDRESS: Final = re.compile(r"temporal://(?P<target>[^/\s]+)(?:/(?P<namespace>[^/\s]+))?/?")
ATTRIBUTES: Final = {
    STATUS_ATTRIBUTE: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD,
    WAITS_FOR_ATTRIBUTE: IndexedValueType.INDEXED_VALUE_TYPE_KEYWORD_LIST,
}


class Address(NamedTuple):
    target: str
    namespace: str

    def __str__(self) -> str:
        return f"{SCHEME}{self.target}/{self.namespace}"


def parse_address(text: str) -> Address:
    match = _ADDRESS.fullmatch(text)
    if match is None:
        raise ConfigurationError(
            f'"{text}" is not the address of a Temporal server',
            hint="for example temporal://localhost:7233/default",
        )
    target = match["target"]
    return Address(target if ":" in target else f"{target}:7233", match["namespace"] or "default")


async def connect(address: Address, env: Mapping[str, str] = os.environ) -> Client:
    options: dict[str, Any] = dict(ClientConfig.load_client_connect_config(override_env_vars=dict(env)))
    options.update(target_host=address.target, namespace=address.namespace)
    try:
        return await Client.connect(**options, data_converter=converter(read_key(env.get(KEY_VARIABLE))))
    except (RuntimeError, RPCError) as error:
        raise unreachable(None, str(address), one_line(error)) from error


def one_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:300]


async def add_search_attributes(client: Client) -> bool:
    """Whether the namespace has the search attributes of runs; adds them where that is allowed."""
    try:
        lacking = await _lacking_attributes(client)
        if lacking:
            await client.operator_service.add_search_attributes(
                AddSearchAttributesRequest(namespace=client.namespace, search_attributes=lacking)
            )
    except RPCError:
        return False
    return True


async def has_search_attributes(client: Client) -> bool:
    try:
        return not await _lacking_attributes(client)
    except RPCError:
        return False


async def _lacking_attributes(client: Client) -> dict[str, IndexedValueType.ValueType]:
    listed = await client.operator_service.list_search_attributes(
        ListSearchAttributesRequest(namespace=client.namespace)
    )
    return {name: kind for name, kind in ATTRIBUTES.items() if name not in listed.custom_attributes}
