"""Reads the imports and lengths of a source tree and says what breaks the rules of the house.

Each check takes the folder that holds a package and returns its complaints; an empty tuple means all is well.
The tables say what the rules are; test_architecture.py applies them to Podium and to trees planted with faults.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path
from typing import Final

from tests.syntax import Imported, syntax_of

PACKAGE: Final = "podium"

# From top to bottom. A part imports only what stands below its own line.
LAYERS: Final[tuple[tuple[str, ...], ...]] = (
    ("__main__",),
    ("frontends",),
    ("wiring",),
    ("cluster",),
    ("app",),
    ("engine", "simulate", "temporal"),
    ("runtime",),
    ("attempt", "adapters", "testing"),
    ("egress", "recording", "credentials"),
    ("ports", "tasks"),
    ("workflow", "views", "git", "context"),
    ("core", "process"),
    ("redaction", "files"),
    ("errors", "fast_dataclass"),
)

# The order inside two packages, from top to bottom: a module or sub-package imports only what is on a lower line.
# Merging is above prompts and contracts, because it reads the partials of a project and places their problems; the
# translation of dialects is below the schema, because it works on nodes and never on typed values.
INNER_ORDERS: Final[dict[str, tuple[tuple[str, ...], ...]]] = {
    "core": (
        ("turn",),
        ("handle",),
        ("decide",),
        ("evolve",),
        ("queries", "ledger", "guidance"),
        ("state",),
        ("effects", "messages", "codec"),
        ("events",),
        ("run_events",),
        ("model",),
        ("policy", "payloads", "addresses", "step_settings"),
        ("expressions",),
        ("types", "globs", "hash_chain", "json_text", "persistent_map"),
    ),
    "workflow": (
        ("load",),
        ("gather", "lint", "compile", "editor_schema"),
        ("merge", "workers", "scripted"),
        ("context",),
        ("contracts",),
        ("prompts", "expressions", "outcomes", "agent_keys"),
        ("schema",),
        ("dialects",),
        ("source",),
        ("problems", "defaults", "agent_capabilities", "test_gates", "cron"),
    ),
    "workflow.lint": (("check",), ("rules",), ("analysis",)),
}

# What the core may import besides itself and the bottom layer: nothing that knows the time, makes ids or touches the world.
CORE_STDLIB: Final = frozenset(
    "__future__ collections collections.abc dataclasses difflib enum fnmatch functools graphlib hashlib heapq "
    "itertools json math operator re string types typing".split()
)

# Modules that only one part may import, so that a search proves where processes start and SQL is spoken.
RESERVED: Final = {
    "subprocess": "process",
    "sqlite3": "adapters",
    "apsw": "adapters",
    "psycopg": "adapters",
    "duckdb": "adapters",
    "temporalio": "temporal",
}

# Modules that a part may not import although they are below it: an attempt gets a task and never the state.
FORBIDDEN: Final = {"attempt": ("podium.core.state", "podium.core.evolve", "podium.core.decide")}
# Parts that stand behind a port, each with the only other part that may import it, to make what the port promises.
BEHIND_PORTS: Final = {"engine": "wiring", "temporal": "cluster"}

MAX_FILE_LINES: Final = 400
MAX_FUNCTION_LINES: Final = 60
P90_FUNCTION_LINES: Final = 30
MAX_MODULES: Final = 20
MIN_MODULE_LINES: Final = 40
MAX_SMALL_MODULES: Final = 24
"""How many modules may be shorter than MIN_MODULE_LINES: one in fifty."""
COMMANDS: Final = "frontends/cli"
"""The command line has a module for each command, however short."""

AGENTS: Final = "adapters/agents"
SHARED: Final = "shared"
"""The only folder of AGENTS that is not an agent."""
DIALECTS: Final = "workflow/dialects"
"""Other formats name agents in their own way, and the translation has to know how."""
AGENT_WORDS: Final = frozenset({"command"})
"""Names of agents that are also keys of settings, logs and other formats: a literal says nothing."""
ORDINARY_WORDS: Final = frozenset({"api", "recorded", "scripted"})
"""Names of agents that also occur in sentences: only a text that is nothing else names the agent."""
NAMED_AGENTS: Final = {
    "adapters/agents/claude_agent_acp/__init__.py": "the name of its program and of its model",
    "adapters/agents/codex_acp/__init__.py": "the name of its program",
    "adapters/agents/codex_acp/agent.py": "the folder of the settings that it reads",
    "adapters/agents/opencode/__init__.py": "the name of its model",
    "adapters/agents/opencode/agent.py": "its command for the protocol",
    "adapters/agents/qwen_code/agent.py": "its option for the protocol",
    "adapters/agents/registry.py": "the list of them",
    "attempt/command/judge_tree.py": "files in a tree that steer agents, whichever agent judges it",
    "frontends/api/refine.py": "the local model of a loop without agents",
    "frontends/cli/options.py": "an example in a help text",
    "frontends/cli/main.py": "the command that is named like a protocol",
    "frontends/cli/run/acp.py": "the protocol of editors, which is also that of some agents",
    "frontends/mcp/client_entries.py": "the programs for whose settings it prints an entry",
    "testing/models/server.py": "vendors' APIs that the model server for tests speaks",
}
"""Modules that may name agents in texts, with the reason."""
IMPORTED_AGENTS: Final = {
    ("wiring.py", "scripted"): "plays all agents in `podium test`",
    ("wiring.py", "recorded"): "plays all agents with --replay",
    (
        "adapters/agents/recorded/agent.py",
        "scripted",
    ): "a recording is played by the process that plays a script",
    **{
        (f"adapters/agents/{name}/{module}.py", "acp"): "an agent of this protocol"
        for name in ("opencode", "qwen_code", "claude_agent_acp", "codex_acp")
        for module in ("__init__", "agent")
    },
    ("adapters/agents/codex_acp/agent.py", "codex"): "it starts codex, which reads the same settings",
}
"""Which module may import from which agent's folder, with the reason."""


@dataclass(frozen=True, slots=True)
class Import:
    module: str
    """The importing module, dotted."""
    target: str
    """What it imports: a module of the package as far as one exists, or the name as written."""
    where: str
    only_types: bool


def layer_faults(src: Path) -> tuple[str, ...]:
    """Every module has a layer, and no import points up or sideways."""
    rank = {part: row for row, parts in enumerate(LAYERS) for part in parts}
    homeless = [
        f"{PACKAGE}.{part} has no layer; add it to LAYERS"
        for part in sorted({part_of(name) for name in modules(src)} - {""})
        if part not in rank
    ]
    crossing = [
        f"{found.where}: {PACKAGE}.{source} imports {found.target}"
        for found in imports(src)
        if (source := part_of(found.module)) != (target := part_of(found.target))
        and target
        and rank.get(source, -1) >= rank.get(target, len(LAYERS))
    ]
    return (*homeless, *crossing)


def inner_order_faults(src: Path) -> tuple[str, ...]:
    """Every module of an ordered package has a line, and no import inside the package points up or sideways."""
    faults: list[str] = []
    edges = tuple(imports(src))
    for package, rows in INNER_ORDERS.items():
        prefix = f"{PACKAGE}.{package}."
        rank = {part: row for row, parts in enumerate(rows) for part in parts}
        parts = {name.removeprefix(prefix).split(".")[0] for name in modules(src) if name.startswith(prefix)}
        faults += [f"{prefix}{part} has no line in INNER_ORDERS" for part in sorted(parts - set(rank))]
        for edge in edges:
            if edge.module.startswith(prefix) and edge.target.startswith(prefix):
                source, target = (
                    name.removeprefix(prefix).split(".")[0] for name in (edge.module, edge.target)
                )
                if source != target and rank.get(source, -1) >= rank.get(target, len(rows)):
                    faults.append(f"{edge.where}: {prefix}{source} imports {prefix}{target}")
    return tuple(faults)


def purity_faults(src: Path) -> tuple[str, ...]:
    """The core imports itself, the bottom layer and CORE_STDLIB; reserved modules stay in their part."""
    impure = [
        f"{found.where}: the core imports {found.target}"
        for found in imports(src)
        if part_of(found.module) == "core"
        and part_of(found.target) not in ("core", "errors", "fast_dataclass")
        and found.target not in CORE_STDLIB
    ]
    strayed = [
        f"{found.where}: only {PACKAGE}.{owner} imports {found.target}"
        for found in imports(src)
        if (owner := RESERVED.get(found.target.split(".")[0])) and part_of(found.module) != owner
    ]
    forbidden = [
        f"{found.where}: {part_of(found.module)} may not import {found.target}"
        for found in imports(src)
        if any(
            found.target == module or found.target.startswith(f"{module}.")
            for module in FORBIDDEN.get(part_of(found.module), ())
        )
    ]
    return (*impure, *strayed, *forbidden)


def port_faults(src: Path) -> tuple[str, ...]:
    """What stands behind a port is reached through it."""
    return tuple(
        f"{found.where}: only {PACKAGE}.{maker} imports {found.target}; use the port"
        for found in imports(src)
        if (maker := BEHIND_PORTS.get(target := part_of(found.target)))
        and part_of(found.module) not in (maker, target)
    )


def cycle_faults(src: Path) -> tuple[str, ...]:
    """No module imports itself by way of others; imports that exist only for the type checker do not count."""
    graph: dict[str, set[str]] = {name: set() for name in modules(src)}
    for found in imports(src):
        if found.target in graph and found.target != found.module and not found.only_types:
            graph[found.module].add(found.target)
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        # graphlib lists a cycle against the direction of the imports.
        return ("cycle: " + " -> ".join(reversed(error.args[1])),)
    return ()


def file_length_faults(folder: Path) -> tuple[str, ...]:
    counted = ((path, len(path.read_text("utf-8").splitlines())) for path in sorted(folder.rglob("*.py")))
    return tuple(
        f"{path}: {lines} lines, at most {MAX_FILE_LINES}"
        for path, lines in counted
        if lines > MAX_FILE_LINES
    )


def function_length_faults(folder: Path) -> tuple[str, ...]:
    return tuple(
        f"{where}: {name} has {lines} lines, at most {MAX_FUNCTION_LINES}"
        for where, name, lines in functions(folder)
        if lines > MAX_FUNCTION_LINES
    )


def p90_function_lines(folder: Path) -> int:
    """Nine functions of ten are no longer than this."""
    lengths = sorted(lines for _, _, lines in functions(folder))
    return lengths[(len(lengths) * 9 - 1) // 10] if lengths else 0


def package_faults(src: Path) -> tuple[str, ...]:
    """Every folder of code says in one sentence what it is for, and has few enough modules to be read as a list."""
    faults = []
    for folder in sorted({path.parent for path in modules(src).values()}):
        name = folder.relative_to(src).as_posix()
        entry = folder / "__init__.py"
        if not entry.is_file() or not syntax_of(entry.read_text("utf-8")).docstring:
            faults.append(f"{name}/__init__.py has no docstring that says what the package is for")
        count = sum(path.name != "__init__.py" for path in folder.glob("*.py"))
        if count > MAX_MODULES:
            faults.append(f"{name} has {count} modules, at most {MAX_MODULES}")
    return tuple(faults)


def small_modules(src: Path) -> tuple[str, ...]:
    """Modules that are shorter than a subject of their own usually is; commands and agents have one each in any case."""
    paths = (path for path in modules(src).values() if not path.name.startswith("__"))
    names = {path.relative_to(src / PACKAGE).as_posix(): path for path in paths}
    names = {name: path for name, path in names.items() if not re.fullmatch(rf"{AGENTS}/\w+/agent.py", name)}
    return tuple(
        name
        for name, path in names.items()
        if not name.startswith(COMMANDS) and len(path.read_text("utf-8").splitlines()) < MIN_MODULE_LINES
    )


def map_faults(src: Path, text: str) -> tuple[str, ...]:
    """Every package and module at the top of the source is named in the text, and nothing that is not there."""
    names = {part_of(name) for name in modules(src)} - {"", "__main__"}
    missing = [f"{name} is not on the map" for name in sorted(names) if not re.search(rf"\b{name}\b", text)]
    drawn = {name.removesuffix(".py") for name in re.findall(r"(?m)^  ((?:\w+/|\w+\.py))", text)}
    gone = [
        f"{name} is on the map and not in the source"
        for name in sorted({d.rstrip("/") for d in drawn} - names - {"data"})
    ]
    return (*missing, *gone)


def agent_folders(src: Path) -> frozenset[str]:
    folders = (path.parent.name for path in (src / PACKAGE / AGENTS).glob("*/__init__.py"))
    return frozenset(folders) - {SHARED}


def agent_faults(src: Path) -> tuple[str, ...]:
    """Nothing outside an agent's folder names the agent in a text or imports from the folder."""
    names = agent_folders(src)
    faults = []
    for path in modules(src).values():
        module = path.relative_to(src / PACKAGE).as_posix()
        if module in NAMED_AGENTS or module.startswith(f"{DIALECTS}/"):
            continue
        own = next((name for name in names if module.startswith(f"{AGENTS}/{name}/")), "")
        faults += [
            f"{module}:{line}: names the agent {name}"
            for line, text in literals(path.read_text("utf-8"))
            for name in sorted(named_agents(text, names - AGENT_WORDS - {own}))
        ]
    for found in imports(src):
        parts = found.target.split(".")
        module = found.where.rpartition(":")[0].removeprefix(f"{PACKAGE}/")
        if parts[1:3] != AGENTS.split("/") or len(parts) < 4 or parts[3] not in names:
            continue
        if not module.startswith(f"{AGENTS}/{parts[3]}/") and (module, parts[3]) not in IMPORTED_AGENTS:
            faults.append(f"{found.where}: imports from the folder of the agent {parts[3]}")
    return tuple(faults)


def named_agents(text: str, names: frozenset[str]) -> frozenset[str]:
    words = frozenset(re.findall(r"[a-z0-9_]+", text.lower()))
    return frozenset(name for name in words & names if name not in ORDINARY_WORDS or text == name)


def literals(source: str) -> tuple[tuple[int, str], ...]:
    """The texts of a module that are not docstrings, with their lines."""
    return tuple((line, text) for line, text, is_alone in syntax_of(source).texts if not is_alone)


def modules(src: Path) -> dict[str, Path]:
    found = {}
    for path in sorted((src / PACKAGE).rglob("*.py")):
        parts = path.relative_to(src).with_suffix("").parts
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


def part_of(module: str) -> str:
    """`core` for podium.core.model; nothing for podium itself and for foreign modules."""
    names = module.split(".")
    return names[1] if names[0] == PACKAGE and len(names) > 1 else ""


def imports(src: Path) -> Iterator[Import]:
    """All imports of the package, also those inside functions and under TYPE_CHECKING."""
    known = modules(src)
    for module, path in known.items():
        file = path.relative_to(src)
        for found in syntax_of(path.read_text("utf-8")).imports:
            for target in targets(found, module, is_package=path.name == "__init__.py"):
                yield Import(module, nearest(target, known), f"{file}:{found.line}", found.only_types)


def targets(found: Imported, module: str, *, is_package: bool) -> tuple[str, ...]:
    if found.is_plain:
        return found.names
    base = found.module
    if found.level:
        package = module.split(".") if is_package else module.split(".")[:-1]
        base = ".".join(package[: len(package) - found.level + 1] + ([base] if base else []))
    if base.split(".")[0] != PACKAGE:
        return (base,)
    return tuple(f"{base}.{name}" for name in found.names)


def nearest(target: str, known: dict[str, Path]) -> str:
    """`from podium.core.model import Step` names a value; the module is what counts."""
    names = target.split(".")
    if target in known or names[0] != PACKAGE:
        return target
    # A part that is planned but not written must still be judged by its name.
    return ".".join(names[:-1]) if len(names) > 2 or names[-1] not in sum(LAYERS, ()) else target


def functions(folder: Path) -> Iterator[tuple[str, str, int]]:
    for path in sorted(folder.rglob("*.py")):
        for line, name, lines in syntax_of(path.read_text("utf-8")).functions:
            yield f"{path}:{line}", name, lines
