"""The server: ``/api/v1`` for programs, and a console for people, on this machine.

    entrance   who is let in, decided from the head of a request
    app        the routes under /api/v1, what they take and return: OpenAPI
    places     the engines that are served
    console/   the pages, as the browser loads them: no build step

Nothing here is imported before somebody serves: FastAPI is an extra
(``tests/contracts/test_imports.py``).
"""
