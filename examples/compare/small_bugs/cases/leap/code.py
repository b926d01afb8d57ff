"""leap"""


def answer(year):
    return year % 4 == 0
