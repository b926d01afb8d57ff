"""A command's attempt: run, evidence, test reports, the tree a judge sees."""
