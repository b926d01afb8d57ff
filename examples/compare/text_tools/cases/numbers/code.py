"""numbers"""

import re


def answer(text):
    return [int(number) for number in re.findall(r"\d+", text)]
