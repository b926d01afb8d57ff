"""Held-out tests."""

import importlib.util

spec = importlib.util.spec_from_file_location("work", "code.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer = module.answer
assert answer("a") == "  a"
assert answer("a\n\nb") == "  a\n\n  b"
