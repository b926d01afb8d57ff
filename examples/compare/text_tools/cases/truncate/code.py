"""truncate"""


def answer(text, width):
    return text[: width - 3] + "..."
