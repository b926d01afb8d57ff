"""A failing disk: a VFS for SQLite whose n-th write fails because the disk is full, broken or read-only.

It also counts the writes. Earlier writes are kept; a failing write stores half of its data, as a real disk may. Import
it in a separate process, or remove it with `close`.
"""

from __future__ import annotations

from typing import Any, Final

import apsw

KINDS: Final = {"full": apsw.FullError, "eio": apsw.IOError, "readonly": apsw.ReadOnlyError}


class FaultyDisk(apsw.VFS):
    """The default VFS of this process until it is closed."""

    def __init__(self, name: str = "faulty") -> None:
        self.writes = 0
        self.fails_at: int | None = None
        self.kind = "full"
        self._base = apsw.vfs_names()[0]
        super().__init__(name, self._base, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> Any:  # noqa: N802 (the name that apsw calls)
        return _File(self, self._base, name, flags)

    def close(self) -> None:
        self.unregister()

    def count(self) -> bool:
        """Count a write; returns whether it and all later ones fail."""
        self.writes += 1
        return self.fails_at is not None and self.writes >= self.fails_at


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, base: str, name: Any, flags: Any) -> None:
        self._disk = disk
        super().__init__(base, name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        if self._disk.count():
            if self._disk.kind != "readonly":
                super().xWrite(data[: len(data) // 2], offset)
            raise KINDS[self._disk.kind]("injected")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802
        if self._disk.count() and self._disk.kind == "eio":
            raise apsw.IOError("injected")
        super().xSync(flags)
