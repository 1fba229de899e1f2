"""What fits in the window, and what must go: pure decisions, no I/O. Nothing lives here yet."""
