"""Contract suites and test kits, shipped so that plugin authors can use them too."""
