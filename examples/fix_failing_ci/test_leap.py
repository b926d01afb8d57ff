import unittest

from leap import is_leap


class LeapTest(unittest.TestCase):
    def test_years(self):
        for year, expected in ((1900, False), (2000, True), (2023, False), (2024, True)):
            self.assertEqual(is_leap(year), expected, year)
