"""What we know, as Markdown files people can read. Nothing lives here yet."""
