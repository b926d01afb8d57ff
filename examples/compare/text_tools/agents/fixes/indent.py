"""indent"""


def answer(text):
    return "\n".join("  " + line if line else line for line in text.split("\n"))
