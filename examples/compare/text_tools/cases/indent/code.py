"""indent"""


def answer(text):
    return "\n".join("  " + line for line in text.split("\n"))
