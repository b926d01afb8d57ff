"""Values that a run is started with are kept with it for good, so none of them may hold a secret."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from podium.core.messages import Start
from podium.errors import ConfigurationError
from podium.redaction.mask import Mask


def check_unhidden(
    mask: Mask, start: Start, variables: Mapping[str, Any], settings: Mapping[str, Any]
) -> None:
    """Raises ConfigurationError for the first of them: masked, the run would go on with another value than was given."""
    for kind, values in (("input", start.inputs), ("variable", variables), ("setting", settings)):
        for name, value in values.items():
            if mask.hides(json.dumps(value, ensure_ascii=False, default=dict)):
                raise ConfigurationError(
                    f'{kind} "{name}" contains a secret, and what a run is started with is stored',
                    hint="let the step that needs the secret name it under `secrets`, and read it from its environment",
                )


def masked_env(mask: Mask, env: Mapping[str, str]) -> dict[str, str]:
    """What expressions see of the environment; processes are given the values themselves."""
    return {name: mask.text(value) for name, value in env.items()}
