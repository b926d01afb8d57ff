"""No probe succeeds inside the sandbox, whether root or an ordinary user built it (R109, R182, X7)."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.security.containers import IMAGE, made_image
from tests.security.escape.probes import PROBES, Probe
from tests.security.kit import REPOSITORY, as_ordinary_user

pytestmark = pytest.mark.security

DRIVER = Path(__file__).with_name("driver.py")
USERS = ("root", "ordinary")


@cache
def tried(user: str, *level: str) -> dict[str, Any]:
    """All probes at once, each in a process of its own: building the sandbox takes longer than the probes."""
    argv = (sys.executable, str(DRIVER), *level)
    done = subprocess.run(
        as_ordinary_user(*argv) if user == "ordinary" else argv,
        env={
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": "/nonexistent",
            "PROBE_TOKEN": f"token-{secrets.token_hex(8)}",
            "PYTHONPATH": f"{REPOSITORY / 'src'}:{REPOSITORY}",
            "PYTHONDONTWRITEBYTECODE": "1",
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        start_new_session=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    found: dict[str, Any] = json.loads(done.stdout)
    assert (found["uid"] == 0) == (user == "root")
    return found


def skip_unless_possible(user: str) -> None:
    if user == "root" and os.geteuid():
        pytest.skip("only root can try it as root")


def test_there_are_at_least_forty_of_them() -> None:
    assert len(PROBES) >= 40
    assert len({probe.name for probe in PROBES}) == len(PROBES)


@pytest.mark.req("R240")
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_within_bubblewrap_a_process_cannot(probe: Probe, user: str) -> None:
    skip_unless_possible(user)

    assert tried(user, "bubblewrap")["within"][probe.name].startswith("refused")


@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_within_a_container_a_process_cannot(probe: Probe) -> None:
    """Of root's; what ordinary users have without a service of root's is listed as untested."""
    image = made_image()
    if image != IMAGE:
        pytest.skip(image)

    assert tried("root", "container", image)["within"][probe.name].startswith("refused")


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize("probe", PROBES, ids=lambda probe: probe.name)
def test_outside_the_sandbox_the_same_probe_succeeds(probe: Probe, user: str) -> None:
    """Or the refusal above would say nothing."""
    skip_unless_possible(user)
    said = tried(user, "bubblewrap")["outside"][probe.name]

    assert not said.startswith("broken"), said
    if probe.control == "all" or (probe.control == "root" and user == "root"):
        assert said.startswith("got"), said
