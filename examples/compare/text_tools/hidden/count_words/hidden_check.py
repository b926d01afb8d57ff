"""Held-out tests."""

import importlib.util

spec = importlib.util.spec_from_file_location("work", "code.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer = module.answer
assert answer("a b") == 2
assert answer("a  b") == 2
assert answer("") == 0
