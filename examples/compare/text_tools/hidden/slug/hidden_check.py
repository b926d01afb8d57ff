"""Held-out tests."""

import importlib.util

spec = importlib.util.spec_from_file_location("work", "code.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer = module.answer
assert answer("One Two") == "one-two"
assert answer("One, two!") == "one-two"
