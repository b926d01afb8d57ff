"""count_words"""


def answer(text):
    return len(text.split(" "))
