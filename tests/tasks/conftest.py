"""A small project for tests of attempts."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.git.kit import Project, new_project


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return new_project(
        tmp_path,
        {
            "README.md": "hello\n",
            "src/app.py": "x = 1\n",
            "data/in.txt": "one\ntwo\n",
            ".gitignore": "*.log\n",
        },
    )
