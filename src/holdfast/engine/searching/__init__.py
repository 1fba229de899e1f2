"""Find it again: the index of an agent, kept up with its files, and searched.

extras     files outside of the home
sources    what there is to be found
following  bringing the index up to date with them
room       the index and its files; what ``engine.index`` is
encoding   one batch of texts through one encoder
embedding  which encoders there are, and what they have not seen
upkeep     the thread that follows the files
asking     a search as a door asks for it
"""

from __future__ import annotations

from holdfast.engine.searching.embedding import Progress
from holdfast.engine.searching.room import IndexState, SearchRoom, Synced, open_index

__all__ = ["IndexState", "Progress", "SearchRoom", "Synced", "open_index"]
