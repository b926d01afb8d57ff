"""Turns a feature (phases of components with interfaces) into the lists that loops iterate over.

In a file, phases, components and interfaces are maps by name; in an agent's answer they are lists with ids. Both
become the same items here: when the file is loaded, or, for a feature that a step answered, during the run through
the names in FUNCTIONS, which the author of a workflow cannot call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from podium.core.expressions.values import WrongType, is_list, is_map, kind_of, phrase

Item: TypeAlias = Mapping[str, Any]


def phases(feature: Any, strict: Any = False) -> list[dict[str, Any]]:
    """Each phase with its id, its code (`P1T5-PH1`), the phases it needs, and its components.

    With `strict` each needs all before it. `locked` are the interfaces that hold while the phase is built: those of a
    later phase that waits for this one are not written yet, so nothing could be checked against them.
    """
    result: list[dict[str, Any]] = []
    own = str(_map(feature, "a feature").get("id") or "")
    waves = _waves(_phases_of(feature), strict=bool(strict))
    for number, phase in enumerate(_phases_of(feature), 1):
        earlier = [item["id"] for item in result]
        entry = {"title": phase["id"], "description": "", "barrier": "strict", **phase}
        entry["interfaces"] = interfaces_of_phase(phase)
        entry["components"] = entries_with_ids(phase.get("components"), "a component")
        entry["needs"] = earlier if strict else _phases_before(entry, earlier)
        entry["code"] = f"{own}-PH{number}" if own else f"PH{number}"
        entry["locked"] = _locked(waves, waves[number - 1][1])
        result.append(entry)
    return result


def _phases_of(feature: Any) -> list[dict[str, Any]]:
    return entries_with_ids(_map(feature, "a feature").get("phases"), "a phase")


def _waves(entries: list[dict[str, Any]], *, strict: bool) -> list[tuple[dict[str, Any], int]]:
    """Each phase with a number that is higher from each phase on that waits for all before it."""
    waves: list[tuple[dict[str, Any], int]] = []
    for entry in entries:
        waits = strict or entry.get("barrier", "strict") == "strict"
        waves.append((entry, waves[-1][1] + waits if waves else 0))
    return waves


def _locked(waves: list[tuple[dict[str, Any], int]], last: int) -> dict[str, Any]:
    phases = [entry for entry, wave in waves if wave <= last]
    return {
        name: {**interface, "phase": phase["id"]}
        for phase in phases
        for name, interface in interfaces_of_phase(phase).items()
    }


def has_later_interfaces(feature: Any) -> bool:
    """Whether a phase that waits for earlier ones has interfaces of its own."""
    return any(wave and entry.get("interfaces") for entry, wave in _waves(_phases_of(feature), strict=False))


def _phases_before(phase: Item, earlier: list[str]) -> list[str]:
    if phase["barrier"] == "strict":
        return earlier
    needs = [need for component in phase["components"] for need in _needs(component)]
    foreign = dict.fromkeys(need.partition(".")[0] for need in needs if "." in need)
    return [name for name in foreign if name != phase["id"]]


def components(phase: Any) -> list[dict[str, Any]]:
    """The components of one phase. Needs in other phases are left out; they are met before the phase starts."""
    own = str(_map(phase, "a phase").get("id", ""))
    code = str(phase.get("code") or own)
    return [
        {
            "code": f"{code}-C{number}",
            "title": component["id"],
            "description": "",
            "touches": None,
            **component,
            "phase": own,
            "needs": _needs_within(_needs(component), own),
        }
        for number, component in enumerate(entries_with_ids(phase.get("components"), "a component"), 1)
    ]


def _needs(component: Item) -> list[str]:
    needs = component.get("needs") or ()
    if not is_list(needs) or not all(isinstance(need, str) for need in needs):
        raise WrongType(f"the needs of {component['id']} must be a list of names")
    return [str(need) for need in needs]


def _needs_within(needs: list[str], own: str) -> list[str]:
    split = [need.rpartition(".") for need in needs]
    return [name for phase, _, name in split if phase in {"", own}]


def interfaces(feature: Any) -> dict[str, Any]:
    """All interfaces of all phases by name, each with the id of its phase."""
    return _locked([(phase, 0) for phase in _phases_of(feature)], 0)


def interfaces_of_phase(phase: Item) -> dict[str, Any]:
    entries = entries_with_ids(phase.get("interfaces"), "an interface")
    return {entry["id"]: {"check": None, **entry} for entry in entries}


def designed(phase: Any, design: Any) -> dict[str, Any]:
    """The phase with the components from the answer of its design step, and all interfaces that hold in it."""
    planned, answer = _map(phase, "a phase"), _map(design, "a phase")
    parts = {key: answer[key] for key in ("title", "description", "components") if answer.get(key)}
    earlier = _map(planned.get("locked") or {}, "interfaces")
    merged = {**earlier, **interfaces_of_phase(planned), **interfaces_of_phase(answer)}
    return {**planned, **parts, "interfaces": merged}


def checks(interfaces: Any) -> list[Any]:
    """The commands that check that the interfaces still hold."""
    return [entry["check"] for entry in _map(interfaces, "interfaces").values() if entry.get("check")]


def files(interfaces: Any) -> list[str]:
    return [entry["file"] for entry in _map(interfaces, "interfaces").values() if entry.get("file")]


def entries_with_ids(entries: Any, noun: str) -> list[dict[str, Any]]:
    """The entries of a map by name, or of a list of maps, as a list of maps with ids."""
    if is_map(entries):
        by_name: Item = entries
        return [{"id": str(name), **_map(entry or {}, noun)} for name, entry in by_name.items()]
    if entries is not None and not is_list(entries):
        raise WrongType(f"{noun} must be in a map or a list, not in {phrase(kind_of(entries))}")
    items: list[Any] = list(entries or ())
    return [{"id": _id_of(entry, number, noun), **entry} for number, entry in enumerate(items, 1)]


def _id_of(entry: Any, number: int, noun: str) -> str:
    fields = _map(entry, noun)
    return str(fields.get("id") or fields.get("name") or number)


def _map(value: Any, noun: str) -> Item:
    if not is_map(value):
        raise WrongType(f"{noun} must be a map, not {phrase(kind_of(value))}")
    return value


FUNCTIONS: Final[Mapping[str, Callable[..., Any]]] = MappingProxyType(
    {
        "_phases": phases,
        "_components": components,
        "_interfaces": interfaces,
        "_designed": designed,
        "_checks": checks,
        "_files": files,
    }
)
"""The evaluator knows these functions, but the parser refuses them: only compiled features call them."""
