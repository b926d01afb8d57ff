"""round_up"""


def answer(value):
    return int(value + 0.999)
