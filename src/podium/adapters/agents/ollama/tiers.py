"""Chooses a local model by the GPU memory of this machine and by the role (R066).

    agents:
      local:
        type: ollama
        tiers:
          gb16: {vram: [12, 20], writer: "gemma3:12b", auditor: "qwen3:14b", fallback: "qwen3:8b", context: 32k}

A tier replaces the built-in tier of the same name. The keys of a tier are names of roles, or `writer`, `auditor` and `coder`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from podium.adapters.agents.ollama.gpus import find_gpus
from podium.errors import ConfigurationError
from podium.workflow.schema.fields import InvalidValue
from podium.workflow.schema.scalars import tokens

BUILT_IN: Final[Mapping[str, Mapping[str, Any]]] = {
    "cpu": {"vram": [0, 6], "writer": "phi3:mini", "auditor": "phi3:mini", "coder": "qwen2.5-coder:1.5b",
            "fallback": "tinyllama", "context": "4k"},
    "gb8": {"vram": [6, 12], "writer": "llama3.1:8b", "auditor": "mistral:7b", "coder": "qwen2.5-coder:7b",
            "fallback": "phi3:mini", "context": "8k"},
    "gb16": {"vram": [12, 20], "writer": "phi4:14b", "auditor": "phi4:14b", "coder": "qwen2.5-coder:14b",
             "fallback": "llama3.1:8b", "context": "32k"},
    "gb24": {"vram": [20, 40], "writer": "qwen2.5:32b", "auditor": "qwen2.5:32b", "coder": "qwen2.5-coder:32b",
             "fallback": "phi4:14b", "context": "64k"},
    "gb48": {"vram": [40, 1000], "writer": "llama3.3:70b", "auditor": "llama3.3:70b", "coder": "qwen2.5-coder:32b",
             "fallback": "qwen2.5:32b", "context": "128k"},
}  # fmt: skip
ROLES: Final[Mapping[str, str]] = {
    "implementer": "coder",
    "implementer_fast": "coder",
    "test_engineer": "coder",
    "reviewer": "auditor",
    "reviewer_gemini": "auditor",
    "reviewer_codex": "auditor",
    "security_auditor": "auditor",
}
OTHER_KEYS: Final = ("vram", "fallback", "context")


class Tier(NamedTuple):
    name: str
    models: Mapping[str, str]
    """By role."""
    fallback: str
    context: int

    def model_for(self, role: str, *, judge: bool) -> str:
        kind = "auditor" if judge else ROLES.get(role, "writer")
        return self.models.get(role) or self.models.get(kind) or self.fallback


def tier_for(gb: float, own: Mapping[str, Any] | None = None) -> Tier:
    """The highest tier for this much GPU memory; 0 for a machine without a GPU."""
    tiers = {**BUILT_IN, **(own or {})}
    try:
        name = max(
            (name for name in tiers if tiers[name]["vram"][0] <= gb), key=lambda name: tiers[name]["vram"][0]
        )
        entry = tiers[name]
        models = {role: str(model) for role, model in entry.items() if role not in OTHER_KEYS}
        return Tier(name, models, str(entry["fallback"]), tokens(entry["context"]))
    except (KeyError, TypeError, IndexError, ValueError, InvalidValue) as error:
        raise ConfigurationError(
            f"tiers are not of the right shape ({type(error).__name__}: {error})",
            hint="write {NAME: {vram: [12, 20], writer: MODEL, auditor: MODEL, coder: MODEL, fallback: MODEL, context: 32k}}",
        ) from error


async def local_models(configured: Mapping[str, Mapping[str, Any]], env: Mapping[str, str]) -> dict[str, Any]:
    """The GPUs of this machine, and the models that an agent uses here if its settings name none."""
    own = next((config["tiers"] for config in configured.values() if config.get("tiers")), None)
    cards = await find_gpus(env)
    tier = tier_for(cards[0].gb if cards else 0, own)
    return {
        "cards": [card._asdict() for card in cards],
        "tier": tier.name,
        "models": dict(tier.models),
        "fallback": tier.fallback,
        "context": tier.context,
    }
