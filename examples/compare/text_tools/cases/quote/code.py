"""quote"""


def answer(text):
    return '"' + text + '"'
