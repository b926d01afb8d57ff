import unittest
from pathlib import Path

from src.depths import depth
from src.endings import ending
from src.names import name
from src.parents import parent
from src.stems import stem


class PathsTest(unittest.TestCase):
    def test_names(self):
        self.assertEqual((name("a/b.c"), parent("a/b.c")), ("b.c", "a"))

    def test_parts(self):
        self.assertEqual((ending("a/b.c"), stem("a/b.c"), depth("a/b.c")), (".c", "b", 1))

    def test_few_imports_keep_the_start_fast(self):
        lines = [line for file in Path("src").glob("*.py") for line in file.read_text().splitlines()]
        self.assertLessEqual(sum(line.startswith(("import ", "from ")) for line in lines), 6)


if __name__ == "__main__":
    unittest.main()
