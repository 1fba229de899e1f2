"""How well a passage answers a question: pure functions over arrays, every score kept."""
