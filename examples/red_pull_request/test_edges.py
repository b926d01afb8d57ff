import unittest

from count import words


class EdgesTest(unittest.TestCase):
    def test_no_words(self):
        self.assertEqual(words(""), 0)

    def test_lines_end_words_too(self):
        self.assertEqual(words("one\ntwo"), 2)
