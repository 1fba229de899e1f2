"""``holdfast bench``: how much is found again, and how fast, measured on this machine.

``retrieval`` runs labelled questions through the real engine, ``speed`` a made-up corpus of any
size through the index; ``metrics`` does the arithmetic for both and for every peer in
``benchmarks/peers``. Proved by ``tests/doors/test_bench.py`` and
``test_bench_figures.py``.
"""
