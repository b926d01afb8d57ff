"""Addresses in the words of the author, for a run of a file in another format: `draft_check~2` is `draft-check~2`.

Views that people read are made with `labelled`. What people write is read by `native_address`. Files and `--json` for programs
keep the native addresses.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from podium.core.types import Address

if TYPE_CHECKING:
    from podium.views.run.view import Pending, RunView, StepView
    from podium.views.run.why import Cause

_PART: Final = re.compile(r"([^/\[~#]*)((?:[\[~#][^/]*)?)")
_PLAIN: Final = re.compile(r"[^/\[\]~#!\n]+")


def labelled(view: RunView) -> RunView:
    """The view with the author's names in its addresses."""
    labels = labels_in(view)
    if not labels:
        return view
    pending = (labelled_question(each, labels) for each in view.pending)
    return view._replace(
        steps=tuple(labelled_step(step, labels) for step in view.steps),
        pending=tuple(pending),
        cause=_cause(view.cause, labels),
    )


def labels_in(view: RunView) -> Mapping[str, str]:
    """The author's names by native name; empty if they are the same."""
    labels = {} if view.labels is None else view.labels.steps
    return {} if all(native == label for native, label in labels.items()) else labels


def labelled_step(step: StepView, labels: Mapping[str, str]) -> StepView:
    if not labels:
        return step
    path, parent = label_address(step.path, labels), label_address(step.parent, labels)
    return step._replace(path=path, parent=parent, cause=_cause(step.cause, labels))


def labelled_question(pending: Pending, labels: Mapping[str, str]) -> Pending:
    return pending._replace(path=label_address(pending.path, labels))


def _cause(cause: Cause | None, labels: Mapping[str, str]) -> Cause | None:
    return None if cause is None else cause._replace(path=label_address(cause.path, labels))


def label_address(path: Address, labels: Mapping[str, str]) -> Address:
    """The address with the author's names; a name that could not be read back stays native."""
    if not labels:
        return path
    parts = (_PART.fullmatch(part) for part in path.split("/"))
    return Address("/".join(f"{_label(part[1], labels)}{part[2]}" for part in parts if part is not None))


def _label(name: str, labels: Mapping[str, str]) -> str:
    label = labels.get(name, name)
    return label if _PLAIN.fullmatch(label) else name


def native_address(written: str, labels: Mapping[str, str]) -> str:
    """The address of a step whose names, or some of them, are the author's."""
    native = {label: name for name, label in labels.items()}
    parts = (_PART.fullmatch(part) for part in native.get(written, written).split("/"))
    return "/".join(f"{native.get(part[1], part[1])}{part[2]}" for part in parts if part is not None)
