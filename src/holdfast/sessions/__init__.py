"""What was said: append-only transcripts, and what the model sees of them."""
