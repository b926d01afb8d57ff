"""clamp"""


def answer(value, low, high):
    return min(value, high)
