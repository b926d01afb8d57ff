"""average"""


def answer(numbers):
    return sum(numbers) / len(numbers) if numbers else 0.0
