"""A small project for most tests."""

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
            "src/app.py": "print('app')\n",
            "src/deep/er/thing.py": "x = 1\n",
            "run.sh": "#!/bin/sh\n",
            ".gitignore": "build/\n*.log\n!keep.log\n/.env\n",
        },
    )
