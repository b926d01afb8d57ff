"""average"""


def answer(numbers):
    return sum(numbers) / len(numbers)
