"""truncate"""


def answer(text, width):
    return text if len(text) <= width else text[: width - 3] + "..."
