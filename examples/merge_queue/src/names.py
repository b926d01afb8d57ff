import os.path


def name(path):
    return os.path.basename(path)
