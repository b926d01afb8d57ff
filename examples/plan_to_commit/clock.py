def minutes(text):
    return 0
