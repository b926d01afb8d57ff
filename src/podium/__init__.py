"""Podium runs teams of AI coding agents from one YAML file and verifies what they did."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.errors import (
        AgentError,
        ApprovalTimeoutError,
        ConfigurationError,
        ModelNotFoundError,
        NotApproved,
        PathViolation,
        PodiumError,
        RunFailed,
        WorkflowError,
    )
    from podium.frontends.api.functions import (
        Workflow,
        answer,
        answer_async,
        approve,
        approve_async,
        events,
        events_async,
        load,
        reject,
        reject_async,
        resume,
        resume_async,
        run,
        run_async,
        show,
        start,
        start_async,
    )
    from podium.frontends.api.refine import Refinement, Turn, refine, refine_async
    from podium.views.run.view import RunView

__version__ = "0.1.0"
__all__ = [
    "AgentError",
    "ApprovalTimeoutError",
    "ConfigurationError",
    "ModelNotFoundError",
    "NotApproved",
    "PathViolation",
    "PodiumError",
    "Refinement",
    "RunFailed",
    "RunView",
    "Turn",
    "Workflow",
    "WorkflowError",
    "__version__",
    "answer",
    "answer_async",
    "approve",
    "approve_async",
    "events",
    "events_async",
    "load",
    "refine",
    "refine_async",
    "reject",
    "reject_async",
    "resume",
    "resume_async",
    "run",
    "run_async",
    "show",
    "start",
    "start_async",
]

_HOMES = (
    "podium.errors",
    "podium.views.run.view",
    "podium.frontends.api.refine",
    "podium.frontends.api.functions",
)


def __getattr__(name: str) -> Any:
    """What a program uses is imported when it is used: the command line must not wait for it."""
    if name in __all__:
        from importlib import import_module

        for home in _HOMES:
            value = vars(import_module(home)).get(name)
            # What a module only imports for itself may have the same name.
            if getattr(value, "__module__", None) == home:
                return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
