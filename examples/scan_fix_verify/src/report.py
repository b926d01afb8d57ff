def report():
    print("done")
