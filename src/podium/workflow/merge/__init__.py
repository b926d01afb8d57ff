"""Read templates, configuration files and roles and merge them into one document; write it back as YAML."""
