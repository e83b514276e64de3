"""What an agent works with beside the screen: web addresses, and the tools of MCP servers."""
