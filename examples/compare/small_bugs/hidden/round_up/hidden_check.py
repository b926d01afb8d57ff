"""Held-out tests."""

import importlib.util

spec = importlib.util.spec_from_file_location("work", "code.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer = module.answer
assert answer(1.5) == 2
assert answer(-1.5) == -1
assert answer(2.0) == 2
assert answer(1.0001) == 2
