"""The routes under ``/api/v1``, by what they are about. Each calls the engine and says what came
of it; nothing is decided here (``tests/server/test_openapi.py``)."""
