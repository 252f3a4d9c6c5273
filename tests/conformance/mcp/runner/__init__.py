"""Runs the official MCP conformance suite: `tests/conformance/mcp/run --help`."""
