"""binary"""


def answer(numbers, wanted):
    low, high = 0, len(numbers) - 1
    while low <= high:
        middle = (low + high) // 2
        if numbers[middle] == wanted:
            return middle
        if numbers[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return -1
