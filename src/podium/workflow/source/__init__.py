"""Read text: strict YAML with positions, nodes, names of files, the root of a project."""
