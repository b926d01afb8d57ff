"""One Temporal server for all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.temporal.kit import Server


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    pytest.importorskip("temporalio")
    started = Server(tmp_path_factory.mktemp("server"))
    started.start()
    yield started
    started.kill()
