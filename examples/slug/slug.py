def slug(title):
    """The part of an address that a title becomes."""
    return title.lower()
