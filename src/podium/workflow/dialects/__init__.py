"""Files written for other tools, translated node by node into the native document."""
