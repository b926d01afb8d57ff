"""round_up"""

import math


def answer(value):
    return math.ceil(value)
