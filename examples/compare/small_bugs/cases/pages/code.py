"""pages"""


def answer(items, size):
    return items // size
