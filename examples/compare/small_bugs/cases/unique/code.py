"""unique"""


def answer(items):
    return sorted(set(items))
