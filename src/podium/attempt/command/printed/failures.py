"""Reads what test runners print about failed tests: how many failed, and the first one with its assertion.

The output may contain anything, so it is read line by line with anchored patterns, and only its end if it is long.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from podium.files import bounded_json
from podium.tasks.report import FailedTests

MAX_CHARS: Final = 512 << 10
MAX_WIDTH: Final = 4_000
MAX_LINES: Final = 3
"""How many lines of an assertion are recorded."""
MAX_LINE_CHARS: Final = 500

Lines = Sequence[str]
Parser = Callable[[Lines], FailedTests | None]


def printed_failure(runner: str | None, output: str) -> FailedTests | None:
    """What the recognised runner printed, or else any other: `make test` may start each of them."""
    lines = [line[:MAX_WIDTH] for line in output[-MAX_CHARS:].splitlines()]
    parsers = [_PARSERS[runner]] if runner in _PARSERS else []
    parsers += [parser for parser in _PARSERS.values() if parser not in parsers]
    return next((failure for parser in parsers if (failure := parser(lines)) is not None), None)


def assertion(lines: Iterable[str]) -> str:
    """The first lines of an assertion, as one line."""
    text = ""
    for line in [line for line in lines if line.strip()][:MAX_LINES]:
        joint = "" if not text else " " if text.endswith(":") else "; "
        text += joint + " ".join(line.split())[:MAX_LINE_CHARS]
    return text


def _pytest(lines: Lines) -> FailedTests | None:
    counts = _last_counts(r"^(?:=+ )?(\d+ [a-z]+(?:, \d+ [a-z]+)*) in [\d.]+s", lines)
    red = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    if not red:
        return None
    executed = ("failed", "passed", "skipped", "xfailed", "xpassed", "error", "errors")
    is_collection = any(line.startswith("!!!") and "during collection" in line for line in lines)
    total = 0 if is_collection else sum(counts.get(word, 0) for word in executed)
    named = _first(r"^(?:FAILED|ERROR) (\S.*?)(?: - (.*))?$", lines, after="short test summary info")
    if named is None:
        heading = _first(r"^_{3,} (\S.*?) _{3,}$", lines)
        name = heading[1][1] if heading else ""
        return _failed(red, total, name, _errors_below(lines, heading[0] if heading else 0))
    _, match = named
    name, short = match[1], match[2] or ""
    title = name.partition("::")[2].replace("::", ".") or name
    above = _first(rf"^_+ (?:ERROR (?:at \w+ of |collecting ))?{re.escape(title)} _+$", lines)
    long = _errors_below(lines, above[0]) if above else ""
    return _failed(red, total, name, long or short)


def _errors_below(lines: Lines, start: int) -> str:
    """The lines with which pytest marks an error, below a heading."""
    marked: list[str] = []
    for line in lines[start + 1 :]:
        if re.match(r"E {3}", line):
            marked.append(line[4:])
        elif marked or re.match(r"[_=]{3,} ", line):
            break
    return assertion(marked)


def _unittest(lines: Lines) -> FailedTests | None:
    summary = _last(r"^Ran (\d+) tests? in ", lines)
    failed = _last(r"^FAILED \((.*)\)", lines)
    if summary is None or failed is None:
        return None
    red = sum(int(count) for count in re.findall(r"(?:failures|errors|successes)=(\d+)", failed[1]))
    first = _first(r"^(?:FAIL|ERROR): (\S+)(?: \(([^()]*)\))?(.*)$", lines)
    if first is None:
        return _failed(red, int(summary[1]), "", "")
    start, match = first
    is_module = (match[2] or "").startswith("unittest.loader.")
    name = match[1] if is_module or not match[2] else _qualified(match[2], match[1])
    body = lines[start + 1 :]
    end = next((n for n, line in enumerate(body) if line.startswith(("=====", "Ran "))), len(body))
    return _failed(red, 0 if is_module else int(summary[1]), f"{name}{match[3]}", _raised(body[:end]))


def _qualified(where: str, name: str) -> str:
    """Before Python 3.11 the place does not end with the name of the test."""
    return where if where.endswith(f".{name}") else f"{where}.{name}"


def _raised(lines: Lines) -> str:
    """The exception at the end of a traceback: what follows its last indented line."""
    raised: list[str] = []
    for line in lines:
        if line.startswith((" ", "Traceback ")):
            raised = []
        elif line.strip() and not line.startswith("-----"):
            raised.append(line)
    return assertion(raised)


def _jest(lines: Lines) -> FailedTests | None:
    suites = _last(r"^Test Suites: .*\bfailed\b", lines)
    counts = _last_counts(r"^Tests: +(\d+ \w+(?:, \d+ \w+)*)", lines)
    if suites is None and not counts.get("failed"):
        return None
    first = _first(r"^  ● (?!Console$)(\S.*)$", lines)
    if first is None:
        return _failed(counts.get("failed", 0), counts.get("total"), "", "")
    start, match = first
    body = lines[start + 1 :]
    end = next((n for n, line in enumerate(body) if re.match(r"  ● |\s+>? *\d+ \||\s+at ", line)), len(body))
    name = match[1].replace(" › ", " > ")
    if name == "Test suite failed to run":
        file = _last(r"^FAIL (\S+)", lines[:start])
        name = file[1] if file else name
    return _failed(counts.get("failed", 0), counts.get("total", 0), name, assertion(body[:end]))


def _vitest(lines: Lines) -> FailedTests | None:
    counts = _last_counts(r"^ +Tests +(\d+ \w+(?: \| \d+ \w+)*)", lines)
    total = _last(r"^ +Tests +.*\((\d+)\)$", lines)
    first = _first(r"^ *FAIL +(\S.*)$", lines)
    if first is None or _last(r"^ +Test Files +", lines) is None:
        return None
    start, match = first
    name = re.sub(r" \[ .* \]$", "", match[1])
    body = lines[start + 1 :]
    end = next((n for n, line in enumerate(body) if not line.strip() or line.startswith(" ❯")), len(body))
    return _failed(counts.get("failed", 0), int(total[1]) if total else 0, name, assertion(body[:end]))


_GO_RESULT: Final = re.compile(r"^( *)--- (FAIL|PASS|SKIP): (\S+) \([\d.]+s\)$")


def _go(lines: Lines) -> FailedTests | None:
    lines = list(_go_text(lines))
    if not any(re.match(r"FAIL(?:\t|$)", line) for line in lines):
        return None
    results = [(n, match) for n, line in enumerate(lines) if (match := _GO_RESULT.match(line))]
    parents = {name[:at] for _, match in results for name in (match[3],) for at in _slashes(name)}
    leaves = [(n, match) for n, match in results if match[3] not in parents]
    red = [(n, match) for n, match in leaves if match[2] == "FAIL"]
    if not red:
        return _go_build(lines)
    start, match = red[0]
    is_verbose = any(line.startswith("=== RUN ") for line in lines)
    total = len(leaves) if is_verbose else None
    return _failed(len(red), total, match[3], _go_output(lines, start, match) or _panic(lines))


def _slashes(name: str) -> list[int]:
    return [at for at, char in enumerate(name) if char == "/"]


def _go_text(lines: Lines) -> Iterator[str]:
    """The text inside the records of `go test -json`, or the lines themselves."""
    for line in lines:
        if not line.startswith('{"'):
            yield line
            continue
        try:
            record = bounded_json.loads(line)
        except (ValueError, RecursionError):
            record = None
        output = record.get("Output") if isinstance(record, dict) else None
        if isinstance(output, str):
            yield output.rstrip("\n")


def _go_output(lines: Lines, start: int, match: re.Match[str]) -> str:
    """What a test printed: below its result, or with -v between its start and the next test."""
    runs = [
        n for n, line in enumerate(lines[:start]) if re.fullmatch(rf"=== RUN +{re.escape(match[3])}", line)
    ]
    first = runs[-1] + 1 if runs else start + 1
    printed: list[str] = []
    for line in lines[first:]:
        if re.match(r"=== |FAIL|ok\b|panic:", line) or _GO_RESULT.match(line) or not line.startswith(" "):
            break
        printed.append(line)
    places = [n for n, line in enumerate(printed) if re.match(r" +\S+\.go:\d+: ", line)]
    # A test logs before it fails, so the last place is the failure.
    return assertion(printed[places[-1] :] if places else printed)


def _panic(lines: Lines) -> str:
    panic = _first(r"^(panic: .*?)(?: \[recovered\])?$", lines)
    return panic[1][1] if panic else ""


def _go_build(lines: Lines) -> FailedTests | None:
    package = _first(r"^FAIL\t(\S+) \[(build|setup) failed\]$", lines)
    if package is None:
        return None
    fault = _first(r"^(\S+\.go:\d+(?::\d+)?: .*)$", lines)
    return _failed(0, 0, package[1][1], fault[1][1] if fault else "it does not build")


def _cargo(lines: Lines) -> FailedTests | None:
    results = [
        match
        for line in lines
        if (match := re.match(r"test result: \w+\. (\d+) passed; (\d+) failed; (\d+) ignored", line))
    ]
    nextest = _last(r"^ +Summary \[.*\] +(\d+)(?:/\d+)? tests? run: .*?(\d+) failed", lines)
    red = int(nextest[2]) if nextest else sum(int(match[2]) for match in results)
    if not red:
        return None
    total = int(nextest[1]) if nextest else sum(int(count) for match in results for count in match.groups())
    block = _first(r"^---- (\S+) stdout ----$", lines) or _first(
        r"^ +FAIL \[ *[\d.]+s\](?: \(.*?\))? (\S.*)$", lines
    )
    if block is None:
        return _failed(red, total, "", "")
    start, match = block
    return _failed(red, total, match[1], _rust_fault(lines[start + 1 :]))


def _rust_fault(lines: Lines) -> str:
    for n, line in enumerate(lines):
        old = re.match(r"\s*thread '.*' panicked at '(.*)', \S+:\d+:\d+$", line)
        if old:
            return assertion([old[1]])
        if re.match(r"\s*thread '.*' .*panicked at \S+:\d+:\d+:$", line):
            body = lines[n + 1 :]
            stop = r"\s*(?:stack backtrace:|note: |$)"
            end = next((m for m, below in enumerate(body) if re.match(stop, below)), len(body))
            return assertion(body[:end])
        if line.startswith(("Error: ", "---- ")):
            return assertion([line]) if line.startswith("Error: ") else ""
    return ""


def _node(lines: Lines) -> FailedTests | None:
    counts = {
        match[1]: int(match[2])
        for line in lines
        if (match := re.match(r"(?:#|ℹ) (tests|fail|cancelled) (\d+)$", line))
    }
    red = counts.get("fail", 0) + counts.get("cancelled", 0)
    if not red or "tests" not in counts:
        return None
    name, fault = _tap(lines) or _spec(lines) or ("", "")
    if fault == "test failed":
        # The file could not be loaded; its words are comments above.
        error = _first(r"^# (\w*Error: .*)$", lines)
        return _failed(0, 0, name, error[1][1] if error else fault)
    return _failed(red, max(red, counts["tests"]), name, fault)


def _tap(lines: Lines) -> tuple[str, str] | None:
    """The first failed test that is not a suite, with the names of the suites around it."""
    suites: dict[int, str] = {}
    for n, line in enumerate(lines):
        subtest = re.match(r"( *)# Subtest: (.*)$", line)
        if subtest:
            suites[len(subtest[1])] = subtest[2]
        failed = re.match(r"( *)not ok \d+ - (.*)$", line)
        if failed is None:
            continue
        depth = len(failed[1])
        body = lines[n + 1 :]
        end = next((m for m, below in enumerate(body) if below.strip() == "..."), len(body))
        if any("failureType: 'subtestsFailed'" in below for below in body[:end]):
            continue
        around = [suites[level] for level in sorted(suites) if level < depth]
        return " > ".join((*around, failed[2])), _tap_error(body[:end])
    return None


def _tap_error(lines: Lines) -> str:
    for n, line in enumerate(lines):
        match = re.match(r"( *)error: (.*)$", line)
        if match is None:
            continue
        if match[2] not in ("|-", "|", ">-"):
            return assertion([match[2].strip("'\"")])
        body = lines[n + 1 :]
        inner = f"{match[1]}  "
        end = next(
            (m for m, below in enumerate(body) if below.strip() and not below.startswith(inner)), len(body)
        )
        return assertion(body[:end])
    return ""


def _spec(lines: Lines) -> tuple[str, str] | None:
    first = _first(r"^✖ (.*?) \([\d.]+ms\)$", lines, after="✖ failing tests:")
    if first is None:
        return None
    start, match = first
    body = lines[start + 1 :]
    end = next((n for n, line in enumerate(body) if re.match(r"\s+at |test at ", line)), len(body))
    return match[1], assertion(body[:end])


_PARSERS: Final[dict[str, Parser]] = {
    "pytest": _pytest,
    "unittest": _unittest,
    "jest": _jest,
    "vitest": _vitest,
    "go": _go,
    "cargo": _cargo,
    "node": _node,
}


def _failed(failed: int, total: int | None, first: str, fault: str) -> FailedTests:
    # Each failed part of a test counts, so there may be more failures than tests.
    if total is not None and failed > total > 0:
        total = None
    return {"failed": failed, "total": total, "first": first, "assertion": fault}


def _first(pattern: str, lines: Lines, *, after: str = "") -> tuple[int, re.Match[str]] | None:
    """The first line that matches, and its number; `after` is part of an earlier line."""
    start = next((n for n, line in enumerate(lines) if after in line), len(lines)) if after else 0
    compiled = re.compile(pattern)
    matches = ((n, match) for n, line in enumerate(lines[start:], start) if (match := compiled.match(line)))
    return next(matches, None)


def _last(pattern: str, lines: Lines) -> re.Match[str] | None:
    compiled = re.compile(pattern)
    return next((match for line in reversed(lines) if (match := compiled.match(line))), None)


def _last_counts(pattern: str, lines: Lines) -> dict[str, int]:
    """The numbers of the last line that matches, by the word that follows each."""
    match = _last(pattern, lines)
    return {} if match is None else {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", match[1])}
