"""Keeps every test away from the user's home and from the network, and decides which tests run and where."""

from __future__ import annotations

import gc
import ipaddress
import os
import shutil
import socket
import threading
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.internal.conjecture import providers

from tests import sample

# A loaded machine makes generating random workflows slow; that says nothing about the code.
PATIENT = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)

# Derandomised: a change is judged by the same examples each time; `make thorough` draws new ones.
settings.register_profile("dev", PATIENT, max_examples=30, derandomize=True)
settings.register_profile("drawn", PATIENT, max_examples=200)
# Tracing is slow and luck must not decide whether a branch was reached: few examples, always the same.
settings.register_profile("coverage", PATIENT, max_examples=50, derandomize=True)
# A planted bug only has to be noticed: a small example of it is of no use. The same examples each time.
settings.register_profile(
    "mutants", PATIENT, max_examples=400, derandomize=True, phases=(Phase.explicit, Phase.generate)
)
# Whether a bug is noticed by luck: other examples, and none that a test names.
settings.register_profile("mutants_drawn", PATIENT, max_examples=400, phases=(Phase.generate,))
PROFILE = os.environ.get("PODIUM_HYPOTHESIS", "dev")
settings.load_profile(PROFILE)
if settings.get_profile(PROFILE).derandomize:
    # Hypothesis mixes constants of our own sources into what it draws: then every edit anywhere would try other examples.
    providers._get_local_constants = lambda: providers._local_constants

SLOW_FOLDERS: Final = ("tests/crash/", "tests/e2e/")
"""Their tests start the real command as processes of its own; `make slow` runs them."""
MEMORY: Final = Path("/dev/shm")
MEMORY_BYTES: Final = 2 << 30
THREAD_SECONDS: Final = 10
"""How long a thread may take to end after its test."""

HOME_FOLDERS = {
    "HOME": "",
    "XDG_CACHE_HOME": ".cache",
    "XDG_CONFIG_HOME": ".config",
    "XDG_DATA_HOME": ".local/share",
    "XDG_STATE_HOME": ".local/state",
}


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("podium")
    group.addoption("--share", type=float, default=1.0, help="run this share of the cases of each file")
    group.addoption("--share-seed", default="1", help="which cases are chosen; printed at the start")


def pytest_configure(config: pytest.Config) -> None:
    """Temporary folders lie in memory where there is room; PYTEST_DEBUG_TEMPROOT names another place."""
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))


def pytest_report_header(config: pytest.Config) -> str | None:
    share, seed = config.getoption("--share"), config.getoption("--share-seed")
    return f"{share:.0%} of the cases of each file, chosen by seed {seed}" if share < 1 else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith(SLOW_FOLDERS):
            item.add_marker(pytest.mark.slow)
    left_out = sample.left_out(
        [item.nodeid for item in items], config.getoption("--share"), seed=config.getoption("--share-seed")
    )
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


def pytest_collection_finish(session: pytest.Session) -> None:
    """Thousands of collected tests stay until the end: no search for garbage should go through them."""
    gc.freeze()
    gc.set_threshold(50_000, 20)


@pytest.fixture(autouse=True)
def no_thread_left_behind() -> Iterator[None]:
    """A server that a test forgot to close polls a closed socket and slows down every test after it."""
    before = set(threading.enumerate())
    yield
    for thread in set(threading.enumerate()) - before:
        thread.join(THREAD_SECONDS)
        assert not thread.is_alive(), f"the test has left the thread {thread.name} running"


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
