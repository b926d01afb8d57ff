def words(text):
    return len(text.split(" "))
