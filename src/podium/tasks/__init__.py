"""The boundary between deciding and doing: all that one effect needs, as a value that can be sent as JSON."""
