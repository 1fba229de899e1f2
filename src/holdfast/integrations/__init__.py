"""Holdfast inside other people's programs."""
