"""The browser pages: the HTTP shell with its guard, the live stream, and the pages, which only call `app`."""
