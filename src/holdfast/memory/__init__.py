"""What we know, as Markdown files people can read: ``notes`` writes the daily log."""
