import unittest

from clock import minutes


class MinutesTest(unittest.TestCase):
    def test_hours_count_sixty(self):
        self.assertEqual(minutes("1:30"), 90)
