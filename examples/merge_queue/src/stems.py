import os.path


def stem(path):
    return os.path.splitext(os.path.basename(path))[0]
