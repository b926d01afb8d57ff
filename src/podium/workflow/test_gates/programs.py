"""Finds the programs of the tree that a gate starts, itself or behind make, npm and similar tools."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import PurePosixPath
from posixpath import normpath
from typing import Final

from podium.core.globs import glob_matches
from podium.core.model import Command, Step
from podium.workflow.test_gates.runners import commands_of, runner_of

_INTERPRETERS: Final = re.compile(
    r"(?:python|pypy|node|ruby|perl|php|deno|bun|lua|sh|bash|dash|zsh|ksh)[\d.]*"
)
_TOOL_FOLDERS: Final = frozenset("tools tool scripts script ci .ci bin hack build-tools dev".split())
_CHECK: Final = re.compile(
    r"(?:.*[-_.])?(?:checks?|verify|verification|validate|lint|qa|smoke|selftest|gates?)(?:[-_.].*)?"
)
"""Names of folders and files that say what a program is for."""
EVERYTHING: Final = ("**", "*", "**/*", "./**")
"""Globs that say nothing about what a step is there to change."""


def gate_programs(gate: Step, declared: Iterable[str]) -> tuple[str, ...]:
    """Programs of the tree that a gate starts, relative to the top, without those that the judged step declares to change.

    Only what is written out counts: a value is not known before the work.
    """
    verb, folder = gate.verb, gate.settings.dir or "."
    if not isinstance(verb, Command) or not isinstance(folder, str):
        return ()
    commands = [(verb.argv, verb.script), *((argv, None) for argv in gate.settings.workspace.setup)]
    programs = (
        program
        for argv, script in commands
        for program in judge_programs([word if isinstance(word, str) else "" for word in argv], script)
    )
    paths = (normpath(f"{folder}/{program}") for program in programs)
    own = tuple(glob for glob in declared if glob not in EVERYTHING)
    return tuple(
        path
        for path in paths
        if not path.startswith("..") and not any(glob_matches(glob, path) for glob in own)
    )


def judge_programs(words: Sequence[str], script: str | None = None) -> tuple[str, ...]:
    """Files of the tree that a command starts as programs: `tools/check`, or a script in a folder of tools.

    A script elsewhere, as in `python app.py`, is more likely the work itself.
    """
    commands = [tuple(words)] if script is None else list(commands_of(script))
    return tuple(dict.fromkeys(path for command in commands for path in _programs(command)))


def _programs(command: tuple[str, ...]) -> Iterator[str]:
    if not command:
        return
    first = command[0].removeprefix("./")
    if "/" in command[0] and not command[0].startswith(("/", "../")):
        yield first
    if _INTERPRETERS.fullmatch(PurePosixPath(command[0]).name):
        named = next((word for word in command[1:] if not word.startswith("-")), "").removeprefix("./")
        *folders, file = named.split("/")
        if (_is_tool_folder(folders) or ("." in file and _CHECK.fullmatch(file))) and not named.startswith(
            "/"
        ):
            yield named


_GOAL_FILES: Final = {
    **dict.fromkeys(("make", "gmake"), ("Makefile", "makefile", "GNUmakefile")),
    **dict.fromkeys(("npm", "pnpm", "yarn", "bun"), ("package.json",)),
    "just": ("justfile", "Justfile", ".justfile"),
    "task": ("Taskfile.yml", "Taskfile.yaml"),
    **dict.fromkeys(("invoke", "inv"), ("tasks.py",)),
    "mise": ("mise.toml", ".mise.toml"),
    "nx": ("nx.json", "project.json"),
    "turbo": ("turbo.json",),
    "composer": ("composer.json",),
    "rake": ("Rakefile",),
    "tox": ("tox.ini",),
    "pre-commit": (".pre-commit-config.yaml",),
}
"""Where tools that start others keep what they start."""
_NOT_SETTINGS: Final = frozenset({"tasks.py", "project.json", "composer.json"})
"""Those that count only for a command that starts their tool; the others steer every command that runs tests."""
_MAX_FILES: Final = 100
_MAX_PATTERNS: Final = 4
_MAX_TEXT: Final = 256 << 10
"""Bytes that are searched, of all files together: splitting them into words takes long."""
_INCLUDED: Final = re.compile(
    r"^[ \t]*(?:-|s)?include[ \t]+([^#\n]{1,1000})|^(?:import|mod)\??[ \t]+[\"']?([^\"'\n]{1,400})"
    r"|^[ \t]*taskfile:[ \t]*[\"']?([^\"'\n]{1,400})",
    re.MULTILINE,
)
"""Other files that a Makefile, a justfile or a Taskfile is continued in."""
_SHELLS: Final = re.compile(r"(?:ba|da|z|k)?sh")
_RECIPE: Final = re.compile(r"^[ \t@+-]*(?:[\w-]+[ \t]*[:=][ \t]+)?")
"""The text before the command in a line of a Makefile, a shell script or a YAML file."""


def programs_behind(
    words: Sequence[str],
    script: str,
    files: Collection[str],
    read: Callable[[str], bytes],
    new: Iterable[str] = (),
) -> frozenset[str]:
    """What the files with the goals of make, the scripts of npm and the like include and start, and what that starts.

    Goals are not told apart, because one may need another. Of the new files, those count that a pattern includes.
    """
    commands = [tuple(words), *commands_of(script)]
    names = {name for command in commands for word in command for name in _GOAL_FILES.get(word, ())}
    goals = sorted((path for path in files if PurePosixPath(path).name in names), key=_depth)
    texts = goals[:_MAX_FILES]
    programs: set[str] = set()
    existing = frozenset(files)
    left, patterns = _MAX_TEXT, _MAX_PATTERNS
    while texts and left > 0 and len(programs) < _MAX_FILES:
        path = texts.pop(0)
        folder = "." if PurePosixPath(path).name not in names else str(PurePosixPath(path).parent)
        content = read(path)[:left]
        left -= len(content)
        places = (normpath(f"{folder}/{program}") for program in _started(path, content))
        included = tuple(_included(path, content))
        globs = list(dict.fromkeys(each for each in included if "*" in each))[:patterns]
        patterns -= len(globs)
        matched = (
            [each for each in (*files, *new) if any(glob_matches(glob, each) for glob in globs)]
            if globs
            else []
        )
        for place in (*places, *included, *_beside(path, content)):
            if place in existing and place not in programs:
                programs.add(place)
                texts.append(place)
        for place in matched:
            if place not in programs:
                programs.add(place)
                texts += [place] if place in existing else []
    return frozenset((*(goal for goal in goals if PurePosixPath(goal).name in _NOT_SETTINGS), *programs))


def _depth(path: str) -> tuple[int, str]:
    return (path.count("/"), path)


def files_of_setup(
    commands: Iterable[Sequence[str]], files: Collection[str], read: Callable[[str], bytes]
) -> frozenset[str]:
    """Files of the tree that the commands of `workspace.setup` name, read as goals, or start behind those."""
    paths: set[str] = set()
    for argv in commands:
        script = "\n".join((shlex.join(argv), *(word for word in argv if " " in word)))
        words = [word for command in commands_of(script) for word in command]
        goals = {name for word in words for name in _GOAL_FILES.get(PurePosixPath(word).name, ())}
        paths |= {normpath(word) for word in words} & set(files)
        paths |= {path for path in files if PurePosixPath(path).name in goals}
        paths |= programs_behind((), script, files, read)
    return frozenset(paths)


_BESIDE: Final = re.compile(
    r"(?:\bfrom|\bimport|\brequire\(|\bimport\()\s{0,20}[\"']\./([^\"'\n]{1,400})[\"']|^[ \t]*(?:from|import)\s+\.?(\w+)",
    re.MULTILINE,
)
_ENDINGS: Final = ("", ".js", ".mjs", ".cjs", ".ts", ".py")


def _beside(path: str, content: bytes) -> Iterator[str]:
    """What a program imports from its own folder, if the folder is one of tools or checks."""
    folder = str(PurePosixPath(path).parent)
    if not path.endswith(_ENDINGS[1:]) or not _is_tool_folder(folder.split("/")):
        return
    for match in _BESIDE.finditer(content.decode("utf-8", "replace")):
        yield from (f"{folder}/{match[1] or match[2]}{ending}" for ending in _ENDINGS)


def _is_tool_folder(parts: Iterable[str]) -> bool:
    return any(part in _TOOL_FOLDERS or _CHECK.fullmatch(part) for part in parts)


def _started(path: str, content: bytes) -> Iterator[str]:
    text = content.decode("utf-8", "replace")
    scripts = _npm_scripts(text) if path.endswith("package.json") else {}
    for name, command in scripts.items():
        if runner_of(("npm", "run", name.removeprefix("pre").removeprefix("post"))) is not None:
            yield from (script for each in commands_of(command) for script in _script_of(each, _INTERPRETERS))
    for line in scripts.values() if path.endswith("package.json") else text.splitlines():
        recipe = _RECIPE.sub("", line, count=1)
        yield from judge_programs((), recipe)
        yield from (script for command in commands_of(recipe) for script in _script_of(command, _SHELLS))


def _script_of(command: tuple[str, ...], interpreters: re.Pattern[str]) -> Iterator[str]:
    """The script that an interpreter is given, whatever its name.

    A shell script behind a goal is more likely a tool than the work, and what the script `test` of npm starts is the test.
    """
    if interpreters.fullmatch(PurePosixPath(command[0]).name):
        yield from [word.removeprefix("./") for word in command[1:] if not word.startswith(("-", "/"))][:1]


def _included(path: str, content: bytes) -> Iterator[str]:
    """Files and patterns that a file with goals is continued in; make looks for them where it was started."""
    if path.endswith((".json", ".py")):
        return
    folder = str(PurePosixPath(path).parent)
    for match in _INCLUDED.finditer(content.decode("utf-8", "replace")):
        for word in next(group for group in match.groups() if group).split()[:100]:
            yield from (normpath(f"{folder}/{word}"), normpath(word))


def _npm_scripts(text: str) -> dict[str, str]:
    try:
        scripts = json.loads(text)["scripts"]
        return {name: str(command) for name, command in scripts.items()}
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return {}
