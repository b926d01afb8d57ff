import os.path


def ending(path):
    return os.path.splitext(path)[1]
