import os.path


def parent(path):
    return os.path.dirname(path)
