"""Reads from the output of a test runner which tests it executed, and how many."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

Status: TypeAlias = Literal["passed", "failed", "error", "skipped"]


@lru_cache(maxsize=16)
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.MULTILINE)


_GO_PASSED: Final = r"\"Action\":\"pass\",(?:\"Package\":\"[^\"\n]{0,500}\",)?\"Test\":"
_COUNTS: Final = {
    "pytest": (r"(?:^|\s)(\d+) (?:passed|failed|xfailed|xpassed)\b", ""),
    "unittest": (r"^Ran (\d+) tests? in ", r"skipped=(\d+)"),
    "node": (r"^(?:#|ℹ) (?:pass|fail) (\d+)$", ""),
    "go": (rf"^(ok)[ \t]+\S+[ \t]+\S+(?!.*\[no tests to run\])|{_GO_PASSED}", ""),
    "cargo": (r"^running ([1-9]\d*) tests?$|(?<!\d)(\d{1,9}) tests? run:", ""),
}


def executed_tests(runner: str, output: str) -> int | None:
    """How many tests a runner says it executed; None if its output does not tell."""
    if runner not in _COUNTS:
        return None
    executed, skipped = _COUNTS[runner]
    total = sum(_number(match) for match in _compiled(executed).finditer(output))
    return total - (sum(_number(match) for match in _compiled(skipped).finditer(output)) if skipped else 0)


def _number(match: re.Match[str]) -> int:
    word = next((group for group in match.groups() if group), "")
    # Python refuses to convert thousands of digits.
    return int(word[:9]) if word.isdecimal() else 1


_NODE_FILE: Final = re.compile(
    r"^[ \t]*(?:ok \d+ - |✔ )(\S.*\.[cm]?[jt]sx?)(?: \([\d.]+ms\))?$", re.MULTILINE
)


def ended_early(runner: str, output: str) -> frozenset[str]:
    """Files and packages that passed without a test: helpers, and those whose process ended before their tests."""
    match runner:
        case "node" | "other":
            has_results = "✔" in output or "ok " in output
            return frozenset(_NODE_FILE.findall(output)) if has_results else frozenset()
        case "go":
            return _go_without_tests(output)
        case _:
            return frozenset()


def listed_tests(runner: str, output: str) -> Mapping[str, Status] | None:
    """The tests that a runner lists in its output with their results; None if it does not list them."""
    match runner:
        case "go":
            return _numbered(_go_json(output) if output.lstrip().startswith('{"') else _go(output))
        case "cargo":
            return _numbered(_cargo(output))
        case "unittest":
            return _numbered(_unittest(output))
        case "node":
            return _numbered(_node(output))
        case _:
            return None


def _numbered(tests: Iterable[tuple[str, Status]]) -> dict[str, Status]:
    """Tests of the same name in different files count separately."""
    listed: dict[str, Status] = {}
    times: Counter[str] = Counter()
    for name, status in tests:
        times[name] += 1
        listed[name if times[name] == 1 else f"{name} ({times[name]})"] = status
    return listed


_GO: Final = re.compile(
    r"=== RUN +(\S+)$|--- (PASS|FAIL|SKIP): (\S+) \([\d.]+s\)$|^(?:ok|FAIL)[ \t]+(\S+)\t", re.MULTILINE
)
_GO_STATUS: Final[Mapping[str, Status]] = {"pass": "passed", "fail": "failed", "skip": "skipped"}


def _go(output: str) -> Iterator[tuple[str, Status]]:
    """The line of a package follows the lines of its tests. A test that began and did not end took its process along."""
    pending: list[tuple[str, Status]] = []
    running: dict[str, None] = {}
    for match in _GO.finditer(output):
        begun, result, test, package = match.groups()
        if begun is not None:
            running[begun] = None
        elif test is not None:
            pending.append((test, _GO_STATUS[result.lower()]))
            running.pop(test, None)
        elif pending or running:
            ended: list[tuple[str, Status]] = [*pending, *((name, "error") for name in running)]
            yield from ((f"{package}.{name}", status) for name, status in ended)
            pending.clear()
            running.clear()


_GO_OK: Final = re.compile(r"^ok[ \t]+(\S+)\t(?!.*\[no test)", re.MULTILINE)


def _go_without_tests(output: str) -> frozenset[str]:
    if output.lstrip().startswith('{"'):
        events = list(_go_events(output))
        passed = {event.get("Package", "") for event in events if event.get("Action") == "pass"}
        text = "".join(str(event.get("Output", "")) for event in events)
        passed &= set(_GO_OK.findall(text))
        tested = {event.get("Package", "") for event in events if event.get("Test")}
        return frozenset(passed - tested)
    if "=== RUN" not in output and "--- PASS" not in output:
        return frozenset(_GO_OK.findall(output))
    tests = _numbered(_go(output))
    return frozenset(
        package
        for package in _GO_OK.findall(output)
        if not any(name.startswith(f"{package}.") for name in tests)
    )


def _go_events(output: str) -> Iterator[dict[str, Any]]:
    for line in output.splitlines():
        try:
            event = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(event, dict):
            yield event


def _go_json(output: str) -> Iterator[tuple[str, Status]]:
    running: dict[str, None] = {}
    for event in _go_events(output):
        name = f"{event.get('Package', '')}.{event.get('Test')}" if event.get("Test") else ""
        status = _GO_STATUS.get(str(event.get("Action")))
        if name and event.get("Action") == "run":
            running[name] = None
        elif name and status is not None:
            running.pop(name, None)
            yield name, status
    yield from ((name, "error") for name in running)


_CARGO: Final = re.compile(
    r"^running \d+ tests?$|^test (.+?)(?: \(line \d+\))? \.\.\. (ok|FAILED|ignored)\b|^test result: ",
    re.MULTILINE,
)
_CARGO_STATUS: Final[Mapping[str, Status]] = {"ok": "passed", "FAILED": "failed", "ignored": "skipped"}


def _cargo(output: str) -> Iterator[tuple[str, Status]]:
    """A program of tests that begins and gives no result has ended before its tests did."""
    is_running, programs = False, 0
    for match in _CARGO.finditer(output):
        if match[1] is not None:
            yield match[1], _CARGO_STATUS[match[2]]
        else:
            if match[0].startswith("running"):
                if is_running:
                    yield f"test program {programs}", "error"
                programs += 1
            is_running = match[0].startswith("running")
    if is_running:
        yield f"test program {programs}", "error"


_UNITTEST: Final = re.compile(r"^\s*(\S+) \((\S+)\)")
_ENDED: Final = re.compile(r"(?:^|\s)(ok|FAIL|ERROR|expected failure|unexpected success)$|\.\.\. (skipped) ")
_UNITTEST_STATUS: Final[Mapping[str, Status]] = {
    "ok": "passed", "FAIL": "failed", "ERROR": "error", "skipped": "skipped",
    "expected failure": "passed", "unexpected success": "failed",
}  # fmt: skip


def _unittest(output: str) -> Iterator[tuple[str, Status]]:
    """With -v each test begins a line; its docstring and what it prints may come before its result."""
    name = ""
    for line in output.partition("\n======")[0].partition("\n------")[0].splitlines():
        head = _UNITTEST.match(line)
        if head is not None:
            # Until Python 3.10 the place lacks the name of the method.
            name = head[2] if head[2].endswith(f".{head[1]}") else f"{head[2]}.{head[1]}"
        end = _ENDED.search(line)
        if name and end is not None:
            yield name.removeprefix("unittest.loader._FailedTest."), _UNITTEST_STATUS[end[1] or end[2]]
            name = ""


_NODE: Final = re.compile(
    r"^ *(?:(ok|not ok) \d+ - |([✔✖﹣]) )(.+?)(?: \([\d.]+ms\))?(?: # (SKIP|TODO)\b.*)?$", re.MULTILINE
)


def _node(output: str) -> Iterator[tuple[str, Status]]:
    """TAP or the reporter "spec", which repeats the failed tests at its end."""
    for match in _NODE.finditer(output.partition("✖ failing tests:")[0]):
        if match[4]:
            yield match[3], "skipped"
        else:
            yield match[3], "passed" if match[1] == "ok" or match[2] == "✔" else "failed"
