"""Which modules are installed where a command looks for them."""

from __future__ import annotations

from pathlib import Path

import pytest

from podium.attempt.command.installed_modules import installed_modules


@pytest.mark.parametrize("where", ["word", "path", "toolchain"])
def test_modules_of_the_installations_of_a_command_are_found(tmp_path: Path, where: str) -> None:
    packages = tmp_path / "env/lib/python3.12/site-packages"
    (packages / "plugin").mkdir(parents=True)
    (packages / "single.py").touch()
    (packages / "fast.cpython-312-x86_64-linux-gnu.so").touch()
    words = [str(tmp_path / "env/bin/python")] if where == "word" else ["pytest"]
    path = f"relative:{tmp_path}/env/bin" if where == "path" else "/nowhere/bin"

    is_installed = installed_modules(words, {"PATH": path}, tmp_path, ["env"] if where == "toolchain" else [])

    assert [name for name in ("plugin", "single", "fast", "other", "*") if is_installed(name)] == [
        "plugin",
        "single",
        "fast",
    ]
