"""Keeps every test away from the user's home and from the network, and sets how hard hypothesis tries."""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Generator, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

# A loaded machine makes generating random workflows slow; that says nothing about the code.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

settings.register_profile("dev", PATIENT, max_examples=200)
# Derandomised: a change is judged by the same examples each time; new ones are sought by the other profiles.
settings.register_profile("ci", PATIENT, max_examples=200, derandomize=True)
# Tracing is slow and luck must not decide whether a branch was reached: few examples, always the same.
settings.register_profile("coverage", PATIENT, max_examples=50, derandomize=True)
# A planted bug only has to be noticed: a small example of it is of no use. The same examples each time.
settings.register_profile(
    "mutants", PATIENT, max_examples=400, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
settings.register_profile("thorough", PATIENT, max_examples=1000)
PROFILE = os.environ.get("PODIUM_HYPOTHESIS", "dev")
settings.load_profile(PROFILE)
if settings.get_profile(PROFILE).derandomize:
    # Hypothesis mixes constants of our own sources into what it draws: then every edit anywhere would try other examples.
    providers._get_local_constants = lambda: providers._local_constants

HOME_FOLDERS = {
    "HOME": "",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


class OutsideCall(AssertionError):
    """A test tried to reach something that is not this machine."""


@pytest.fixture(scope="session", autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        for name, folder in HOME_FOLDERS.items():
            patch.setenv(name, str(home / folder))
        yield


@pytest.fixture(scope="session", autouse=True)
def loopback_only() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("connect", "connect_ex", "sendto"):
            patch.setattr(socket.socket, name, guarded(name))
        yield


def guarded(name: str) -> Any:
    real = getattr(socket.socket, name)

    def call(self: socket.socket, *args: Any) -> Any:
        # The address comes last, also in sendto(data, flags, address).
        if not is_local(args[-1]):
            raise OutsideCall(f"{name} to {args[-1]!r}; tests talk to this machine only")
        return real(self, *args)

    return call


def is_local(address: Any) -> bool:
    """Paths are sockets in the file system; an internet address is a tuple that starts with the host."""
    if not isinstance(address, tuple):
        return True
    host = str(address[0])
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """PODIUM_REQUIRE=all, as in .ci/run: a test that cannot run there is a failure, not a gap."""
    report = yield
    if report.skipped and not hasattr(report, "wasxfail") and os.environ.get("PODIUM_REQUIRE") == "all":
        report.outcome = "failed"
        report.longrepr = f"{item.nodeid} was skipped under PODIUM_REQUIRE=all: {report.longrepr}"
    return report
