import unittest

from price import total


class TotalTest(unittest.TestCase):
    def test_prices_are_added(self):
        self.assertEqual(total([1, 2]), 3)

    def test_what_is_below_zero_does_not_count(self):
        self.assertEqual(total([1, -5]), 1)
