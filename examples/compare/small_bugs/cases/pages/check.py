"""The tests that the project has; they miss the bug."""

import importlib.util

spec = importlib.util.spec_from_file_location("work", "code.py")
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
answer = module.answer

assert answer(20, 10) == 2
