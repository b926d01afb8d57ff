"""Writes the generated reference pages, and the output under every command that the docs show.

`--check` writes nothing: it prints how the pages differ from what the code says, and exits 1 if they do.
"""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]  # `python tools/docs.py` only knows its own folder


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--check", action="store_true", help="only tell what is out of date")
    is_check = parser.parse_args(arguments).check
    stale = {path: text for path, text in fresh(ROOT).items() if text != _read(ROOT / path)}
    for path, text in stale.items():
        if is_check:
            sys.stdout.writelines(_difference(path, _read(ROOT / path), text))
            continue
        (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
        (ROOT / path).write_text(text, "utf-8")
        print(f"wrote {path}")
    if is_check and stale:
        print(f"{len(stale)} pages are out of date; run make docs", file=sys.stderr)
    return 1 if is_check and stale else 0


def fresh(root: Path) -> Mapping[str, str]:
    """Every page that has a generated part, by its path, as it should be."""
    from tools.pages.stage import pages, replayed

    written = {path: write() for path, write in generated().items()}
    shown = {path: (root / path).read_text("utf-8") for path in pages(root) if path not in written}
    return {**written, **{path: replayed(text, root) for path, text in shown.items() if "```console" in text}}


def generated() -> Mapping[str, Callable[[], str]]:
    """What writes each page that comes from the code alone."""
    from tools.pages import (
        agent_keys,
        agents,
        cli,
        decisions,
        events,
        format_keys,
        mcp_answers,
        outcomes,
        partials,
        patterns,
        roles,
        schemas,
        states,
        steering,
        templates,
    )
    from tools.pages.markdown import noticed
    from tools.pages.validation import rules_page

    return {
        "docs/decisions/README.md": decisions.page,
        "docs/reference/agent-keys.md": agent_keys.page,
        "docs/reference/agent-matrix.md": agents.page,
        "docs/reference/cli.md": cli.page,
        "docs/reference/events.md": events.page,
        "docs/reference/format-keys.md": format_keys.page,
        "docs/reference/outcomes.md": outcomes.page,
        "docs/reference/partials.md": partials.page,
        "docs/reference/patterns.md": patterns.page,
        "docs/reference/roles.md": roles.page,
        "docs/reference/schemas.md": schemas.page,
        "docs/reference/states.md": states.page,
        "docs/reference/steering-files.md": steering.page,
        "docs/reference/templates.md": templates.page,
        "docs/reference/validation.md": lambda: noticed(rules_page()),
        "src/podium/data/mcp_answers.json": mcp_answers.page,
    }


def _read(path: Path) -> str:
    return path.read_text("utf-8") if path.is_file() else ""


def _difference(path: str, old: str, new: str) -> Iterator[str]:
    return difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), f"{path} (stored)", f"{path} (fresh)"
    )


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
