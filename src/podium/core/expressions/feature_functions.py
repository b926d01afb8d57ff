"""A feature - phases of components behind interfaces - as the lists that loops run over.

The shapes people and planners write differ: phases, components and interfaces are maps by name in a file, lists
with ids in an answer. Both become the same items here. At load for a feature in a file, during the run for one
that a step answered; then by the names in FUNCTIONS, which no author can call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, TypeAlias

from podium.core.expressions.values import WrongType, is_list, is_map, kind_of, phrase

Item: TypeAlias = Mapping[str, Any]


def phases(feature: Any, strict: Any = False) -> list[dict[str, Any]]:
    """Each phase with its id, the phases it waits for, and its components. `strict`: one after another."""
    found: list[dict[str, Any]] = []
    for phase in _phases_of(feature):
        earlier = [item["id"] for item in found]
        entry = {"title": phase["id"], "description": "", "barrier": "strict", **phase}
        entry["interfaces"] = interfaces_of_phase(phase)
        entry["components"] = named(phase.get("components"), "a component")
        entry["needs"] = earlier if strict else _phases_before(entry, earlier)
        found.append(entry)
    return found


def _phases_of(feature: Any) -> list[dict[str, Any]]:
    return named(_map(feature, "a feature").get("phases"), "a phase")


def _phases_before(phase: Item, earlier: list[str]) -> list[str]:
    if phase["barrier"] == "strict":
        return earlier
    needs = [need for component in phase["components"] for need in _needs(component)]
    foreign = dict.fromkeys(need.partition(".")[0] for need in needs if "." in need)
    return [name for name in foreign if name != phase["id"]]


def components(phase: Any) -> list[dict[str, Any]]:
    """The components of one phase; what they need of other phases was settled before the phase began."""
    own = str(_map(phase, "a phase").get("id", ""))
    return [
        {
            "title": component["id"],
            "description": "",
            "touches": None,
            **component,
            "phase": own,
            "needs": _needs_within(_needs(component), own),
        }
        for component in named(phase.get("components"), "a component")
    ]


def _needs(component: Item) -> list[str]:
    needs = component.get("needs") or ()
    if not is_list(needs) or not all(isinstance(need, str) for need in needs):
        raise WrongType(f"the needs of {component['id']} are not a list of names")
    return [str(need) for need in needs]


def _needs_within(needs: list[str], own: str) -> list[str]:
    split = [need.rpartition(".") for need in needs]
    return [name for phase, _, name in split if phase in {"", own}]


def interfaces(feature: Any) -> dict[str, Any]:
    """All interfaces of all phases by name, each with the phase it belongs to."""
    return {
        name: {**interface, "phase": phase["id"]}
        for phase in _phases_of(feature)
        for name, interface in interfaces_of_phase(phase).items()
    }


def interfaces_of_phase(phase: Item) -> dict[str, Any]:
    entries = named(phase.get("interfaces"), "an interface")
    return {entry["id"]: {"check": None, **entry} for entry in entries}


def designed(phase: Any, design: Any) -> dict[str, Any]:
    """The phase with the components and interfaces that its design answered."""
    known, answer = _map(phase, "a phase"), _map(design, "a phase")
    parts = {key: answer[key] for key in ("title", "description", "components") if answer.get(key)}
    merged = {**interfaces_of_phase(known), **interfaces_of_phase(answer)}
    return {**known, **parts, "interfaces": merged}


def checks(found: Any) -> list[Any]:
    """The commands that prove the interfaces unbroken."""
    return [entry["check"] for entry in _map(found, "interfaces").values() if entry.get("check")]


def files(found: Any) -> list[str]:
    return [entry["file"] for entry in _map(found, "interfaces").values() if entry.get("file")]


def named(entries: Any, what: str) -> list[dict[str, Any]]:
    """A map by name or a list of maps with ids, as the latter."""
    if is_map(entries):
        known: Item = entries
        return [{"id": str(name), **_map(entry or {}, what)} for name, entry in known.items()]
    if entries is not None and not is_list(entries):
        raise WrongType(f"{what} stands neither in a map nor in a list")
    listed: list[Any] = list(entries or ())
    return [{"id": _id_of(entry, number, what), **entry} for number, entry in enumerate(listed, 1)]


def _id_of(entry: Any, number: int, what: str) -> str:
    known = _map(entry, what)
    return str(known.get("id") or known.get("name") or number)


def _map(value: Any, what: str) -> Item:
    if not is_map(value):
        raise WrongType(f"{what} is a map, not {phrase(kind_of(value))}")
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
"""Known to the evaluator, refused by the parser: only compiled features call them."""
