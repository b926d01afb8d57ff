"""Which candidates of `agent: auto` can do a step on this machine, within its sandbox, tools, price and limits."""

from __future__ import annotations

import shlex
import shutil
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from podium.attempt.host import Host
from podium.attempt.programs import wanting
from podium.views.format import dollars
from podium.workflow.agent_capabilities import SANDBOX_LEVELS, Capabilities

if TYPE_CHECKING:
    from podium.app.choosing.choose import AutoStep


def obstacle(each: AutoStep, name: str, host: Host, likely_usd: float | None) -> str:
    """Why an agent cannot do the step; empty if it can. Scripted and recorded agents need no program and no key."""
    config = each.workflow.config.agents.get(name, {})
    if config.get("enabled") is False:
        return "disabled"
    kind = str(config.get("type") or name)
    installed = host.agents.get(kind)
    if installed is None:
        return f'unknown type "{kind}"'
    if not host.context.agents_simulated:
        lacks = wanting(installed, config, host.host_env) or _no_program(config, host)
        if lacks:
            return lacks
    return _unfit(each, installed.type.capabilities, host) or _too_dear(
        each, bool(config.get("price")), installed.type.capabilities, likely_usd
    )


def _no_program(config: Mapping[str, Any], host: Host) -> str:
    """For an agent whose program the file names: whether it is there, unless the project has it under a path."""
    command = config.get("command")
    words = shlex.split(command) if isinstance(command, str) else list(command or ())
    program = words[0] if words and isinstance(words[0], str) else ""
    if not program or "/" in program or shutil.which(program, path=host.host_env.get("PATH")):
        return ""
    return f"{program} is not installed, or not on the PATH"


def _unfit(each: AutoStep, capabilities: Capabilities, host: Host) -> str:
    settings = each.step.settings
    level = host.sandbox_of(each.step).level
    accepted = settings.sandbox.level in ("none", "limits") or host.context.accepts_weak_sandbox
    if SANDBOX_LEVELS.index(capabilities.needs) > SANDBOX_LEVELS.index(level) and not accepted:
        return f"needs the sandbox {capabilities.needs}, and the step has {level}"
    if settings.tools and not capabilities.tools:
        return f"cannot enforce tools: [{', '.join(settings.tools)}]"
    if not capabilities.files and each.step.touches != ():
        return "answers with text only, and the step may change files"
    return ""


def _too_dear(each: AutoStep, has_price: bool, capabilities: Capabilities, likely_usd: float | None) -> str:
    if capabilities.price == "unknown" and not has_price and each.workflow.unknown_cost == "refuse":
        return "has no price, and limits.unknown_cost is refuse"
    bounds = (each.workflow.limits.usd, each.step.limits.usd)
    limit = min((bound for bound in bounds if bound is not None), default=None)
    if limit is not None and likely_usd is not None and likely_usd > limit:
        return f"usually costs {dollars(likely_usd)}, and the limit is {dollars(limit)}"
    return ""
