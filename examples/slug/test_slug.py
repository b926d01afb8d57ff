import unittest

from slug import slug


class SlugTest(unittest.TestCase):
    def test_spaces_become_dashes(self):
        self.assertEqual(slug("Hello World"), "hello-world")

    def test_other_signs_are_left_out(self):
        self.assertEqual(slug("Hello, World!"), "hello-world")
