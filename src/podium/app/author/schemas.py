"""The JSON Schemas that are shipped: of files that people write, and of what commands print with --json."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

WRITTEN: Final = ("workflow", "config", "feature", "test")
"""Files that people write; their schemas are made from the code that reads them."""

FOLDER: Final = Path(__file__).parents[2] / "data/schemas"


def names() -> tuple[str, ...]:
    return (*WRITTEN, *sorted(path.stem for path in FOLDER.glob("*.json")))


def schema_text(name: str) -> str:
    if name not in WRITTEN:
        return (FOLDER / f"{name}.json").read_text("utf-8")
    import json

    from podium.workflow.editor_schema import config_schema, feature_schema, test_schema, workflow_schema

    made = {
        "workflow": lambda: workflow_schema(_agent_keys()),
        "config": lambda: config_schema(_agent_keys()),
        "feature": feature_schema,
        "test": test_schema,
    }
    return json.dumps(made[name](), indent=2) + "\n"


def _agent_keys() -> dict[str, tuple[Any, ...]]:
    """The keys of all built-in agents; those of other packages depend on what is installed."""
    from podium.adapters.agents.registry import built_in_types

    keys = [pair for agent_type in built_in_types() for pair in agent_type.capabilities.keys.items()]
    return {
        name: tuple({repr(key.type): key.type for other, key in keys if other == name}.values())
        for name in dict(keys)
    }
