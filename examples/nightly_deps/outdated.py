"""Prints what has a newer version, as JSON; stands for the command of your package manager."""

import json
from pathlib import Path


def versions(file):
    return dict(line.split() for line in Path(file).read_text().splitlines())


ours, theirs = versions("versions.txt"), versions("latest.txt")
print(json.dumps([{"name": name, "latest": theirs[name]} for name in ours if ours[name] != theirs[name]]))
