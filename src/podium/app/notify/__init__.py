"""Messages to people about runs: which events they are told of, in which words, through which channels, and when."""
