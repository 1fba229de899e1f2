"""Forget: move to the archive, or erase a text everywhere and prove it.

    forgetting   what the words and ids mean, what would go, the answer
    order        the stores one after the other, each place of the home
    rederiving   summaries and memories whose sources changed
    bytescan     is anything left, in any spelling?
    receipts     what was done, without the text

Promise: see ``forgetting``.
"""

from __future__ import annotations

from holdfast.engine.erase.forgetting import Forgotten, Item, forget

__all__ = ["Forgotten", "Item", "forget"]
