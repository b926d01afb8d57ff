"""What a process uses is measured while it runs; it is ended at a limit, which the result names."""

from __future__ import annotations

import mmap
import os
import time
from pathlib import Path

import anyio
import pytest

from podium.process import bounds as bounds_module
from podium.process import disk as disk_module
from podium.process.bounds import Bounds, ScratchBound, UsageWatch, size_text
from podium.process.disk import DiskBound, DiskWatch, deleted_files
from podium.process.procfs import Process, read_process, tasks_of_user
from tests.process.kit import finish, python

MB = 1 << 20
FOREVER = "import time\nwhile True: time.sleep(0.05)"


def bound(folder: Path, **changes: int) -> DiskBound:
    values = {"bytes": 4 * MB, "files": 100, "since_ns": 0, **changes}
    return DiskBound((folder,), values["bytes"], values["files"], values["since_ns"])


@pytest.mark.req("R186")
@pytest.mark.parametrize(
    ("code", "words"),
    [
        (
            "import os\nfor n in range(9): open(f'f{n}', 'wb').write(bytes(1 << 20))",
            "wrote 4 MB to disk, the limit",
        ),
        ("for n in range(200): open(f'f{n}', 'w').close()", "wrote 100 files, the limit (sandbox.files)"),
        (
            "f = open('x', 'wb'); import os; os.unlink('x'); f.write(bytes(8 << 20)); f.flush()",
            "wrote 4 MB to disk, the limit (sandbox.disk)",
        ),
    ],
    ids=["size", "count", "deleted"],
)
def test_a_process_that_writes_too_much_is_ended(tmp_path: Path, code: str, words: str) -> None:
    done = finish(python(f"{code}\n{FOREVER}", cwd=tmp_path, bounds=Bounds(disk=bound(tmp_path))))

    assert words in done.exceeded
    assert (done.timed_out, done.survivors) == (False, ())


@pytest.mark.req("R186")
def test_so_is_one_with_too_many_processes(tmp_path: Path) -> None:
    code = f"import os\nfor _ in range(3):\n    if os.fork() == 0: break\n{FOREVER}"

    done = finish(python(code, bounds=Bounds(processes=4)))

    assert done.exceeded == "had 4 processes and threads, the limit (sandbox.processes)"


@pytest.mark.req("R186")
def test_processes_that_ended_and_were_not_reaped_count_as_they_do_for_the_kernel() -> None:
    code = f"import os\nfor _ in range(3):\n    if os.fork() == 0: os._exit(0)\n{FOREVER}"

    done = finish(python(code, bounds=Bounds(processes=4)))

    assert done.exceeded == "had 4 processes and threads, the limit (sandbox.processes)"


def test_what_was_written_before_the_end_counts_too(tmp_path: Path) -> None:
    code = "open('x', 'wb').write(bytes(8 << 20))"

    done = finish(python(code, cwd=tmp_path, bounds=Bounds(disk=bound(tmp_path))))

    assert "sandbox.disk" in done.exceeded


def test_a_modest_process_is_left_alone(tmp_path: Path) -> None:
    everything = Bounds(
        processes=50, disk=bound(tmp_path), scratch=ScratchBound(("/tmp",), MB, 10), pids=tmp_path / "none"
    )

    done = finish(python("import time; time.sleep(0.6)", cwd=tmp_path, bounds=everything))

    assert (done.exceeded, done.exit_code) == ("", 0)


def test_at_the_limit_of_a_user_the_largest_processes_are_ended() -> None:
    """Others of the same user count for the kernel, so it may refuse a process before its own limit."""

    def check(per_user: int, threads: int) -> str:
        own = Process(os.getpid(), 1, 1, 1, is_dead=False, threads=threads)

        async def go() -> str:
            return await UsageWatch(Bounds(processes=80, per_user=per_user)).check(lambda: (own,))

        return anyio.run(go)

    assert check(tasks_of_user(os.geteuid()) // 2, 10) != ""
    assert check(tasks_of_user(os.geteuid()) // 2, 9) == ""
    assert check(10**9, 10) == ""


def test_files_from_before_and_files_of_podium_are_not_counted(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(bytes(MB))
    now = time.time_ns() + 10**9
    later = DiskWatch(bound(tmp_path, since_ns=now))
    (tmp_path / "state").mkdir()
    (tmp_path / "state/log").write_bytes(bytes(MB))
    skipping = DiskWatch(DiskBound((tmp_path,), MB, 10, 0, skipped=(tmp_path / "state",)))

    assert later.measure(()).bytes == 0
    assert skipping.measure(()).files == 2, "the folder itself and the old file"


def test_a_file_with_two_names_is_counted_once_and_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").write_bytes(bytes(MB))
    (tmp_path / "in/one").write_bytes(bytes(MB))
    (tmp_path / "in/two").hardlink_to(tmp_path / "in/one")
    (tmp_path / "in/link").symlink_to(tmp_path / "out")

    usage = DiskWatch(bound(tmp_path / "in", bytes=64 * MB)).measure(())

    assert (usage.files, MB <= usage.bytes < 2 * MB) == (2, True)


def test_no_more_than_most_of_the_free_space_may_be_taken(tmp_path: Path) -> None:
    watch = DiskWatch(bound(tmp_path, bytes=1 << 60))

    free = os.statvfs(tmp_path)
    assert watch.allowed < free.f_bavail * free.f_frsize


def test_an_unreadable_folder_counts_as_all_that_has_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = DiskWatch(bound(tmp_path))
    monkeypatch.setattr(disk_module, "_entries", lambda _: iter([None]))
    free = disk_module._free(tmp_path)
    monkeypatch.setattr(
        disk_module, "_free", lambda _: disk_module._Free(free.bytes - 6 * MB, free.files, counts_files=True)
    )

    assert watch.is_due()
    usage = watch.measure(())
    assert (usage.unreadable, usage.bytes >= 5 * MB) == (True, True)


def test_a_folder_that_is_gone_or_cannot_be_listed_is_no_failure(tmp_path: Path) -> None:
    (tmp_path / "long").mkdir()
    hidden = disk_module._may_hide_something

    assert DiskWatch(bound(tmp_path / "gone")).measure(()).bytes == 0
    assert not hidden(str(tmp_path), FileNotFoundError(), 0)
    assert hidden(str(tmp_path), PermissionError(), 0)
    assert not hidden(str(tmp_path), PermissionError(), time.time_ns() + 10**9)
    assert hidden(str(tmp_path / ("x" * 300)), OSError(), 0)


def test_a_file_that_is_only_mapped_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "x").open("w+b") as file:
        file.truncate(MB)
        view = mmap.mmap(file.fileno(), MB)
    device, inode = (tmp_path / "x").stat().st_dev, (tmp_path / "x").stat().st_ino
    (tmp_path / "x").unlink()

    # Python itself keeps a descriptor of what it maps.
    monkeypatch.setattr(disk_module, "_open_files", lambda _pid: iter(()))
    assert deleted_files((os.getpid(),), {device})[device, inode] == MB
    view.close()
    # Earlier tests of this process may have left other files mapped.
    assert (device, inode) not in deleted_files((os.getpid(), 2**22 + 1), {device})


def test_a_walk_happens_from_time_to_time_without_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch = DiskWatch(bound(tmp_path))
    assert not watch.is_due()
    monkeypatch.setattr(disk_module, "WALK_EVERY_S", 0.0)

    watch = DiskWatch(bound(tmp_path))

    assert watch.is_due()
    assert not watch.is_due(at_end=True)


def test_full_folders_in_memory_are_seen_from_outside(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The figures of a folder are read through a process that sees it."""
    own = read_process(os.getpid())
    assert own is not None
    monkeypatch.setattr(bounds_module, "is_inside", lambda _pid: True)

    def check(scratch: ScratchBound) -> str:
        async def go() -> str:
            return await UsageWatch(Bounds(scratch=scratch)).check(lambda: (own,))

        return anyio.run(go)

    assert check(ScratchBound(("/dev/shm", "/no/such/folder"), MB, 10**9)) == ""
    assert "files in /dev/shm" in check(ScratchBound(("/dev/shm",), MB, 0))


@pytest.mark.parametrize(
    ("size", "text"),
    [(20 << 30, "20 GB"), (3 << 29, "1.5 GB"), (512 << 20, "512 MB"), (2048, "2 KB"), (5, "5 bytes")],
)
def test_sizes_are_written_in_the_largest_unit(size: int, text: str) -> None:
    assert size_text(size) == text


def test_only_the_main_process_that_is_found_is_measured() -> None:
    async def nothing() -> int | None:
        return None

    async def own() -> int | None:
        return os.getpid()

    async def go(bounds: Bounds) -> str:
        return await UsageWatch(bounds).check(lambda: ())

    assert anyio.run(go, Bounds(processes=1, main=nothing)) == ""
    assert "sandbox.processes" in anyio.run(go, Bounds(processes=1, main=own))
