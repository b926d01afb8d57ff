"""slug"""

import re


def answer(text):
    return re.sub(r"[^a-z0-9]", "-", text.lower())
