"""Where did we write that? Nothing lives here yet."""
