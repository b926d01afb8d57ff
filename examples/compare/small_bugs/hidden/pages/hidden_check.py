"""Held-out tests."""

import importlib.util

spec = importlib.util.spec_from_file_location("work", "code.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer = module.answer
assert answer(20, 10) == 2
assert answer(21, 10) == 3
assert answer(0, 10) == 0
