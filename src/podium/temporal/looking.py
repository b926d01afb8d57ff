"""What a server knows: its runs that have not ended, and whether it and its workers are there."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

from temporalio.api.enums.v1 import TaskQueueType
from temporalio.api.taskqueue.v1 import TaskQueue
from temporalio.api.workflowservice.v1 import DescribeTaskQueueRequest, GetSystemInfoRequest
from temporalio.client import Client
from temporalio.service import RPCError

from podium.core.hash_chain import RunId
from podium.errors import ConfigurationError
from podium.temporal.connection import Address, connect, has_search_attributes, one_line
from podium.temporal.payloads import is_encrypted
from podium.temporal.protocol import (
    ANYBODY,
    QUEUE,
    RUN,
    STARTED_WITH,
    WAITS_FOR_ATTRIBUTE,
    home_queue,
    unreachable,
)

OPEN: Final = f"WorkflowType = '{RUN}' AND ExecutionStatus = 'Running'"
CHECK_S: Final = 10.0


async def open_runs(client: Client, waiting_for: str | None) -> tuple[RunId, ...]:
    """The runs that have not ended, or those of them with a question that this person may answer."""
    query = OPEN
    if waiting_for is not None:
        if is_encrypted():
            raise ConfigurationError(
                "names of people are not stored on a server whose histories are encrypted",
                hint="podium runs --on ADDRESS, and then: podium inbox",
            )
        query += f" AND {WAITS_FOR_ATTRIBUTE} IN ({_quoted(waiting_for)}, {_quoted(ANYBODY)})"
    try:
        return tuple([RunId(execution.id) async for execution in _listed(client, query)])
    except RPCError as error:
        raise unreachable(None, client.service_client.config.target_host, one_line(error)) from error


def _listed(client: Client, query: str) -> AsyncIterator[Any]:
    return client.list_workflows(query)


def _quoted(text: str) -> str:
    if "'" in text or "\\" in text:
        raise ConfigurationError(f"{text} cannot be the name of a person here")
    return f"'{text}'"


async def started_with(client: Client, run: RunId) -> Mapping[str, Any]:
    """What a run was started with, which one of its workers answers."""
    try:
        start: Mapping[str, Any] = await asyncio.wait_for(
            client.get_workflow_handle(run).query(STARTED_WITH), CHECK_S
        )
    except (TimeoutError, RPCError) as error:
        why = "no worker takes its turns" if isinstance(error, TimeoutError) else one_line(error)
        raise unreachable(run, client.service_client.config.target_host, why) from error
    return start


async def check_server(address: Address, home: Any) -> dict[str, Any]:
    """The server, its namespace, its workers, and the worker of this folder."""
    client = await connect(address)
    info = await client.workflow_service.get_system_info(GetSystemInfoRequest())
    return {
        "server": info.server_version,
        "encrypted": is_encrypted(),
        "searchable": await has_search_attributes(client),
        "workers": await _pollers(client, QUEUE),
        "home": await _pollers(client, home_queue(home)),
    }


async def _pollers(client: Client, queue: str) -> list[str]:
    """The names of the workers that have asked for attempts of a queue within the last minutes."""
    answer = await client.workflow_service.describe_task_queue(
        DescribeTaskQueueRequest(
            namespace=client.namespace,
            task_queue=TaskQueue(name=queue),
            task_queue_type=TaskQueueType.TASK_QUEUE_TYPE_ACTIVITY,
        )
    )
    return sorted({poller.identity for poller in answer.pollers})
