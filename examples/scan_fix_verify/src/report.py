def report():
    print('done')
