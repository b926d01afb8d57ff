"""One module for each page: it reads through `app` and fills a template."""
