"""Saving what is about to be lost: by the agent, by a model that extracts, or by rules."""
