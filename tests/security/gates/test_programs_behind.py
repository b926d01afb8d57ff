"""Programs that a gate starts behind make or npm judge the work as they were before it (issue 16, A5, D1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from podium.workflow.test_gates.programs import programs_behind
from tests.security.gates.batch import judged
from tests.security.gates.corpus import put

MEND: Final = "echo fixed > value.txt\n"
GREEN: Final = "echo '1 passed in 0.1s'"
PROJECTS: Final[Mapping[str, tuple[Mapping[str, str], tuple[str, ...], Mapping[str, str]]]] = {
    "make": (
        {
            "Makefile": "SH = sh\ncheck: prepare\n\t@$(SH) tools/check.sh\nprepare:\n\t@-./prepare\n",
            "prepare": "#!/bin/sh\nexit 0\n",
            "tools/check.sh": "#!/bin/sh\nset -e\nsh tools/really.sh value.txt\n",
            "tools/really.sh": f"grep -q fixed $1 && {GREEN}\n",
            "value.txt": "broken\n",
        },
        ("make", "check"),
        {
            "the script": put("tools/check.sh", GREEN),
            "what the script starts": put("tools/really.sh", GREEN),
            "what another goal starts": put("prepare", f"#!/bin/sh\n{MEND}") + "chmod +x prepare\n",
        },
    ),
    "npm": (
        {
            "package.json": '{"name": "p", "scripts": {"pretest": "sh scripts/lint.sh", "test": "node scripts/test.js"}}\n',
            "scripts/lint.sh": "grep -q . value.txt\n",
            "scripts/test.js": "const fs = require('fs');\n"
            "if (!fs.readFileSync('value.txt', 'utf8').includes('fixed')) process.exit(1);\nconsole.log('ok 1 - value');\n",
            "value.txt": "broken\n",
        },
        ("npm", "test"),
        {
            "the script": put("scripts/test.js", "console.log('ok 1 - value');"),
            "the script before it": put("scripts/lint.sh", MEND),
        },
    ),
    "make in parts": (
        {
            "Makefile": "include build/rules build/more*\ntest:\n\t@sh run.sh\n\t@$(CHECK)\n\t@$(MORE)\n",
            "build/rules": "CHECK = grep -q fixed value.txt\n",
            "build/more.inc": "-include build/last\n",
            "build/last": "MORE = grep -q fixed value.txt\n",
            "run.sh": f"grep -q fixed value.txt && {GREEN}\n",
            "value.txt": "broken\n",
        },
        ("make", "test"),
        {
            "an included file": put("build/rules", "CHECK = true\nSHELL = /bin/true"),
            "a file that an included file includes": put("build/last", "SHELL = /bin/true"),
            "a new file that is included": put("build/more2", "SHELL = /bin/true"),
            "a script of an ordinary name": put("run.sh", GREEN) + "echo fixed again > other.txt\n" + put("build/rules", "CHECK = true") + put("build/last", "MORE = true"),
        },
    ),
    "npm with a script of its own": (
        {
            "package.json": '{"name": "p", "scripts": {"pretest": "python3 before.py", "test": "node run.js"}}\n',
            "before.py": "assert 'fixed' in open('value.txt').read()\n",
            "run.js": "if (!require('fs').readFileSync('value.txt', 'utf8').includes('fixed')) process.exit(1);\nconsole.log('ok 1 - value');\n",
            "lib/x.js": "",
            "value.txt": "broken\n",
        },
        ("npm", "test"),
        {
            "the script": put("run.js", "console.log('ok 1 - value');") + put("before.py", ""),
            "the script before it mends": put("before.py", "open('value.txt', 'w').write('fixed')"),
        },
    ),
}  # fmt: skip


@pytest.mark.security
@pytest.mark.parametrize("tool", PROJECTS)
def test_a_program_behind_a_goal_judges_as_it_was(tmp_path: Path, tool: str) -> None:
    files, command, cheats = PROJECTS[tool]
    gate = {"name": "gate", "run": list(command)}
    improved = f"echo '# or // more' > /dev/null; {MEND} printf '\\n' >> {next(path for path in files if '/' in path)}\n"

    ends, done = judged(tmp_path, files, gate, [MEND, improved, *cheats.values()])

    assert [end.outcome for end in ends[:2]] == ["passed", "passed"], done.out
    through = [name for name, end in zip(cheats, ends[2:], strict=True) if not end.is_caught]
    assert through == [], done.out


@pytest.mark.security
def test_only_files_that_are_started_count() -> None:
    files = {
        "web/package.json": '{"scripts": {"test": "./run && node scripts/a.js", "x": "node src/app.js"}}',
        "web/run": "",
        "web/scripts/a.js": "",
        "web/src/app.js": "",
        "scripts/a.js": "",
    }

    started = programs_behind(("npm", "test"), "", files, lambda path: files[path].encode())

    assert started == {"web/run", "web/scripts/a.js"}
    assert programs_behind(("pytest",), "", files, lambda _: b"") == frozenset()
