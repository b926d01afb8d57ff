"""Podium runs teams of AI coding agents from one YAML file and verifies what they did."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.frontends.refining import Refinement, Turn, refine

__version__ = "0.1.0"
__all__ = ["Refinement", "Turn", "__version__", "refine"]


def __getattr__(name: str) -> Any:
    """What a program uses is imported when it is used: the command line must not wait for it."""
    if name in ("Refinement", "Turn", "refine"):
        from podium.frontends import refining

        return getattr(refining, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
