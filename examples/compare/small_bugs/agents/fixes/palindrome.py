"""palindrome"""


def answer(text):
    folded = text.casefold()
    return folded == folded[::-1]
