"""One search, from its words to passages with citations; ``pipeline`` is the way through."""
