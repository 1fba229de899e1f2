"""Other people's memory search, on the same data as ours, each in an environment of its own."""
