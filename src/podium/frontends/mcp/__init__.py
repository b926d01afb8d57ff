"""The MCP server of a project, for the user's own assistant; needs the extra `mcp`."""
