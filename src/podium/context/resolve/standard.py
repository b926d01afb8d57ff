"""Which modules come with a language, so that no package has to be installed for them."""

from __future__ import annotations

import sys
from typing import Final

_NODE: Final = frozenset(
    "assert async_hooks buffer child_process cluster console constants crypto dgram diagnostics_channel dns domain events fs "
    "http http2 https inspector module net os path perf_hooks process punycode querystring readline repl stream "
    "string_decoder sys timers tls trace_events tty url util v8 vm wasi worker_threads zlib".split()
)
_RUST: Final = frozenset({"std", "core", "alloc", "proc_macro", "test"})
_RUST_PATHS: Final = frozenset({"crate", "self", "super"})
_JAVA: Final = ("java.", "javax.", "jdk.", "sun.")


def is_standard(language: str, module: str) -> bool:
    first = module.split("/", maxsplit=1)[0]
    match language:
        case "python":
            return not module.startswith(".") and module.split(".", maxsplit=1)[0] in sys.stdlib_module_names
        case "typescript" | "javascript":
            return module.startswith("node:") or first in _NODE
        case "go":
            # The path of a package that is fetched begins with the name of a host.
            return "." not in first
        case "rust":
            return module.split("::", maxsplit=1)[0] in _RUST | _RUST_PATHS
        case "java":
            return module.startswith(_JAVA)
        case _:
            return False
