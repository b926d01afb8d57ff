import unittest

from count import words


class WordsTest(unittest.TestCase):
    def test_two_words(self):
        self.assertEqual(words("two words"), 2)
