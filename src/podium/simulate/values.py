"""Plausible values for a contract, as the simulation asks for them; made where scripted agents find them too."""

from podium.workflow.examples import Draw, example, example_of, middle

__all__ = ["Draw", "example", "example_of", "middle"]
