"""One document from templates, configuration layers and inherited roles; writing it back as YAML."""
