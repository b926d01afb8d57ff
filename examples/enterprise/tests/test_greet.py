import unittest

from greet import greet


class GreetTest(unittest.TestCase):
    def test_there_is_a_greeting(self):
        self.assertTrue(callable(greet))
