"""Runs the tests and writes a report as JUnit does; yours has an option for it."""

import sys
import unittest
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr


class Result(unittest.TextTestResult):
    def __init__(self, *args, **more):
        super().__init__(*args, **more)
        self.ran = []

    def startTest(self, test):  # noqa: N802 (unittest's)
        super().startTest(test)
        self.ran.append(test)


done = unittest.TextTestRunner(resultclass=Result).run(unittest.defaultTestLoader.discover("."))
told = {test.id(): words for test, words in (*done.failures, *done.errors)}
cases = []
for test in done.ran:
    class_name, _, name = test.id().rpartition(".")
    inner = f"<failure>{escape(told[test.id()])}</failure>" if test.id() in told else ""
    cases.append(f"<testcase classname={quoteattr(class_name)} name={quoteattr(name)}>{inner}</testcase>")
Path(sys.argv[1]).write_text(f"<testsuite>{''.join(cases)}</testsuite>")
sys.exit(0 if done.wasSuccessful() else 1)
