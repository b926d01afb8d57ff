"""clamp"""


def answer(value, low, high):
    return max(low, min(value, high))
