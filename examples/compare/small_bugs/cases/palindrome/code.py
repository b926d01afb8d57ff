"""palindrome"""


def answer(text):
    return text == text[::-1]
