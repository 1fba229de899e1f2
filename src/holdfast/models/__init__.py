"""Other people's models, behind the ports. Nothing lives here yet."""
