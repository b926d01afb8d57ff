"""vitest with a file of settings runs in a sandboxed gate, where the project's node_modules is read-only."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

import pytest

from podium.adapters.sandboxes import bubblewrap_probe
from tests.e2e.kit import Ended, closing, new_project
from tests.security.gates.batch import link_modules

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(bubblewrap_probe.probe() is not None, reason="bubblewrap does not hold here"),
]

ROOT: Final = Path(__file__).parents[2]
FILES: Final = {
    "package.json": '{"name": "p", "type": "module", "scripts": {"test": "vitest run"}}\n',
    ".gitignore": "node_modules/\n.podium/\n",
    "vitest.config.mjs": "import { defineConfig } from 'vitest/config'\n"
    "export default defineConfig({ test: { include: ['checks/**/*.test.js'] } })\n",
    "checks/app.test.js": "import { test, expect } from 'vitest'\ntest('adds', () => { expect(1 + 1).toBe(2) })\n",
    "flow.yaml": "podium: 1\nname: v\nsteps:\n  check: {run: [npm, test], tests: true}\n",
}


@pytest.mark.parametrize("has_folder", [True, False])
def test_the_settings_are_loaded_in_the_sandbox_or_the_message_says_how(
    tmp_path: Path, has_folder: bool
) -> None:
    modules = ROOT / ".venv-js/node_modules"
    if subprocess.run(["sh", ROOT / "tools/js_runners.sh"], capture_output=True, check=False).returncode:
        pytest.skip("vitest is not installed")
    with closing(new_project(tmp_path, FILES)) as project:
        link_modules(project.root / "node_modules", modules)
        vite = project.root / "node_modules/.vite-temp"
        if has_folder:
            vite.mkdir()

        done = project.podium("run", "flow.yaml", "--sandbox", "bubblewrap", "--json", timeout_s=120)

        if has_folder:
            assert (done.code, list(vite.iterdir())) == (0, []), done.out
        else:
            assert (done.code, vite.exists()) == (1, False)
            assert "or add --configLoader=runner" in _message(done)


def test_with_the_option_that_the_guide_names_the_settings_are_loaded_without_the_folder(
    tmp_path: Path,
) -> None:
    modules = ROOT / ".venv-js/node_modules"
    if subprocess.run(["sh", ROOT / "tools/js_runners.sh"], capture_output=True, check=False).returncode:
        pytest.skip("vitest is not installed")
    flow = FILES["flow.yaml"].replace("[npm, test]", "npx vitest run --configLoader=runner")
    # Only the settings tell that this file has tests.
    named = {"checks/app.check.js": FILES["checks/app.test.js"]}
    settings = {"vitest.config.mjs": FILES["vitest.config.mjs"].replace("*.test.js", "*.check.js")}
    files = {name: text for name, text in FILES.items() if name != "checks/app.test.js"}
    with closing(new_project(tmp_path, {**files, **named, **settings, "flow.yaml": flow})) as project:
        link_modules(project.root / "node_modules", modules)

        done = project.podium("run", "flow.yaml", "--sandbox", "bubblewrap", "--json", timeout_s=120)

        assert done.code == 0, done.out
        assert not (project.root / "node_modules/.vite-temp").exists()


def _message(done: Ended) -> str:
    return str(next(step["message"] for step in done.data()["steps"] if step["path"] == "check"))
