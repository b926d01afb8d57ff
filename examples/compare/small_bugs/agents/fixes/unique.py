"""unique"""


def answer(items):
    return list(dict.fromkeys(items))
