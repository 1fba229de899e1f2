"""The server and its console."""
