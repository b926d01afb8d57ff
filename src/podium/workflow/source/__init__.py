"""Read text: strict YAML with positions, nodes, finding files, templates and role files."""
