"""Which files of a project may be packed without being asked for by name: text that people write, and no secrets."""

from __future__ import annotations

import re
from typing import Final

from podium.context.facts import FileFacts

MAX_FILES: Final = 20_000
_LOCKS: Final = frozenset(
    "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock bun.lockb poetry.lock uv.lock pdm.lock "
    "pipfile.lock cargo.lock go.sum composer.lock gemfile.lock gradle.lockfile flake.lock".split()
)
_SECRETS: Final = re.compile(
    r"(^|/)(\.env(\.(?!example$|sample$|template$)[^/]*)?|\.netrc|\.npmrc|\.pypirc|id_(rsa|dsa|ecdsa|ed25519)"
    r"|[^/]*\.(pem|key|p12|pfx|jks|keystore|kdbx)|credentials(\.json)?)$",
    re.IGNORECASE,
)
_BINARY: Final = re.compile(
    r"\.(png|jpe?g|gif|ico|webp|bmp|svg|pdf|zip|gz|tgz|bz2|xz|zst|7z|tar|jar|war|class|so|dylib|dll|exe|o|a|wasm|pyc|"
    r"woff2?|ttf|otf|eot|mp[34]|mov|avi|wav|ogg|db|sqlite3?|bin|dat|parquet|npy|min\.js|min\.css|map)$",
    re.IGNORECASE,
)
_FOLDERS: Final = frozenset(
    "node_modules .venv venv __pycache__ .tox .nox .cache .mypy_cache .ruff_cache .pytest_cache site-packages .git .hg "
    ".podium .gradle .idea".split()
)
"""Of programs, not of the project; git ignores most of them."""
_FAULTS: Final = frozenset({"binary", "too large", "generated"})
_TEST: Final = re.compile(
    r"(^|/)(tests?|__tests__|spec|e2e|testdata|fixtures)/|(^|/)(test_[^/]*|conftest)\.py$|[._-](test|tests|spec)\.\w+$"
    r"|(Test|Tests|IT)\.java$"
)


def may_be_candidate(path: str) -> bool:
    """By its path alone."""
    name = path.rpartition("/")[2].lower()
    return not (
        name in _LOCKS
        or not _FOLDERS.isdisjoint(path.split("/"))
        or _SECRETS.search(path)
        or _BINARY.search(path)
    )


def is_secret_file(path: str) -> bool:
    """Whether a file has nothing but a secret, so that it is not packed even if it is asked for."""
    return _SECRETS.search(path) is not None


def is_usable(facts: FileFacts) -> bool:
    """Whether the content is text that people wrote."""
    return facts.fault not in _FAULTS


def is_test(path: str) -> bool:
    return _TEST.search(path) is not None
