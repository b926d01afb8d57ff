"""The settings of steps from `defaults`: by the name of a step, else for all.

The order, the nearest first: the step, `defaults.steps.NAME`, the role, `defaults`, and the language.
"""

from __future__ import annotations

from collections.abc import Iterator

from podium.core.types import Millis
from podium.workflow.compile.values import CompileContext
from podium.workflow.schema.fields import DocPath
from podium.workflow.schema.file import Defaults, Role, StepDefaults
from podium.workflow.schema.parts import Retry
from podium.workflow.schema.step import Step, StepOrGate

RetryLayer = tuple[Retry | str, DocPath]


def timeout(
    context: CompileContext, raw: StepOrGate, role: Role | None, default: Millis | None
) -> Millis | None:
    """The timeout of a step that works; `defaults` does not apply to gates."""
    named, common = _named(context, raw), _common(context, raw)
    owners = (raw, named, role, common)
    owner = next((each for each in owners if each is not None and each.timeout), None)
    return default if owner is None else context.duration(owner.timeout, owner.at("timeout"))


def retry_layers(
    context: CompileContext, raw: StepOrGate, role: Role | None = None, *, is_worker: bool = False
) -> Iterator[RetryLayer]:
    """All layers, the nearest last. The retry for all steps is only for workers: repeating a red test changes nothing."""
    common = _common(context, raw) if is_worker else None
    for layer in (common, role, _named(context, raw), raw):
        if layer is not None and layer.retry is not None:
            yield layer.retry, layer.at("retry")


def _common(context: CompileContext, raw: StepOrGate) -> Defaults | None:
    return context.source.file.defaults if isinstance(raw, Step) else None


def _named(context: CompileContext, raw: StepOrGate) -> StepDefaults | None:
    common = _common(context, raw)
    return None if common is None or not raw.path else common.steps.get(str(raw.path[-1]))
