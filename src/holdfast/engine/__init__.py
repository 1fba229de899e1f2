"""The only place where effects are ordered: which room does what, and when."""
