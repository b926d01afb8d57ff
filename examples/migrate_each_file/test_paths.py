import unittest

from src.endings import ending
from src.names import name
from src.parents import parent


class PathsTest(unittest.TestCase):
    def test_all(self):
        self.assertEqual((name("a/b.c"), parent("a/b.c"), ending("a/b.c")), ("b.c", "a", ".c"))
