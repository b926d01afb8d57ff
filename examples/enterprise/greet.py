def greet():
    return 'Hello'
