"""Runs the command of a packing strategy, on the files that the attempt starts from, without network and secrets."""

from __future__ import annotations

from typing import Final

from podium.attempt.agent.agent_attempt import AgentAttempt
from podium.attempt.command.checkout import CommandAttempt, open_checkout, run_in
from podium.core.expressions.templates import fill_argv
from podium.core.model import Command
from podium.core.step_settings import ContextSettings
from podium.errors import ConfigurationError
from podium.fast_dataclass import replace

MAX_PRINTED: Final = 4 << 20


async def packing_output(attempt: AgentAttempt) -> tuple[str, str] | None:
    """The name of the program and what it printed; None if the step has no such strategy."""
    step, host, started = attempt.step, attempt.host, attempt.started
    argv = fill_argv(step.settings.context.command, attempt.names)
    if not argv:
        return None
    verb = Command(argv=argv)
    # No network, no secrets, and whatever it writes is thrown away with the checkout.
    settings = replace(
        step.settings, network=(), secrets=(), env=(), context=ContextSettings(), tools=None, system=None
    )
    command = replace(step, verb=verb, settings=settings, touches=(), gates=None)
    run = CommandAttempt(host, started, command, verb, attempt.names, None, is_gate=False)
    async with open_checkout(run, started.start) as workspace:
        outcome = await run_in(host, started, command, attempt.names, workspace)
    if outcome.kind != "ok":
        raise ConfigurationError(
            f'"{step.name}": the command of context.strategy failed: {outcome.first_line}',
            hint=f"it runs without network and secrets; try it: {' '.join(argv)}",
        )
    return argv[0], outcome.finished.stdout.tail(MAX_PRINTED)
