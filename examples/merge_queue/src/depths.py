import os.path


def depth(path):
    return os.path.normpath(path).count("/")
