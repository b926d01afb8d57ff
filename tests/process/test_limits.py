"""Resource limits apply before the child starts, with both wrapper programs."""

from __future__ import annotations

import resource
from pathlib import Path

import pytest

from podium.process.limits import PRLIMIT, Limits, wrapper
from tests.process.kit import finish, launch, python

REPORT = """
import resource as r
print([r.getrlimit(x) for x in (r.RLIMIT_AS, r.RLIMIT_CPU, r.RLIMIT_FSIZE, r.RLIMIT_NOFILE, r.RLIMIT_CORE)])
"""
LIMITS = Limits(memory_bytes=1 << 30, cpu_s=50, file_bytes=5000, open_files=64)
EXPECTED = str([(1 << 30,) * 2, (50, 50), (5000, 5000), (64, 64), (0, 0)])


@pytest.mark.req("R186")
@pytest.mark.parametrize("programs", [PRLIMIT, ()], ids=["prlimit", "script"])
def test_limits_apply_from_the_first_instruction(programs: tuple[Path, ...]) -> None:
    command = python(REPORT)
    prefix = wrapper(LIMITS, programs=programs)

    assert finish(launch(*prefix, *command.argv)).stdout.text().strip() == EXPECTED


def test_a_launch_with_limits_keeps_its_pid() -> None:
    done = finish(python(REPORT, limits=LIMITS))

    assert done.stdout.text().strip() == EXPECTED
    assert done.exit_code == 0


def test_a_child_that_writes_too_much_is_stopped(tmp_path: Path) -> None:
    code = "import sys; open(sys.argv[1], 'wb').write(bytes(100_000))"

    done = finish(python(code, str(tmp_path / "big"), limits=Limits(file_bytes=4096)))

    assert done.exit_code != 0
    assert (tmp_path / "big").stat().st_size <= 4096


def test_a_limit_above_the_hard_limit_is_lowered_to_it() -> None:
    """Otherwise the kernel would refuse it and the child would not start."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]

    done = finish(python(REPORT, limits=Limits(open_files=hard + 1)))

    assert f"({hard}, {hard})" in done.stdout.text()


def test_limits_that_we_have_ourselves_need_no_wrapper() -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    same = Limits(core_bytes=hard) if soft == hard else Limits(core_bytes=None)

    assert wrapper(same) == ()
    assert wrapper(Limits(core_bytes=None, file_bytes=4096)) != ()


def test_a_missing_program_is_reported_also_with_limits() -> None:
    done = finish(launch("no-such-program", limits=Limits()))

    assert (done.exit_code, done.not_started) == (127, 'program "no-such-program" was not found')
