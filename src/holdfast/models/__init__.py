"""Other people's models, behind the ports: token counters, context windows, text encoders.

Importing this package, or ``holdfast.models.embedders``, loads no model and none of the
libraries that run one; the first text that needs a model does.
"""
