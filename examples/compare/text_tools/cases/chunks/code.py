"""chunks"""


def answer(text, size):
    return [text[n : n + size] for n in range(0, len(text) - size + 1, size)]
