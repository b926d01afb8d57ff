"""The workflows of a project as an agent in an editor, by the Agent Client Protocol; needs the extra `mcp`."""
