def total(items):
    return 0
