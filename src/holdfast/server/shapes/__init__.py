"""What the routes take and return: the source of the OpenAPI description
(``tests/server/test_openapi.py``)."""
