"""What every server of ours has in common: who is let in, how much is read, when it ends.

    heads       Host, Origin and token of a request, before its body is read
    bodies      a body, as far as its limit and its time
    listening   sockets, addresses that others reach, the web server, signals
    connections how long a head may take to come, how many connections there are

Used by ``mcp_server`` and ``server``; proven by ``tests/doors/test_mcp_gate.py`` and
``tests/server/test_entrance.py``.
"""
