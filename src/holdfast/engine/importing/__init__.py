"""Conversations and notes of other programs, brought in: found, read, kept, taken back.

    shapes      what the parts hand to each other          files     opening, archives, bounds
    places      where programs keep what they wrote        reading   a file → its messages
    bringing    a conversation → a session                 taking    one file, read on
    notes       Markdown → memory/imports                  running   a whole import, and its undo
    ledger      what was brought in already                runs      the id of an import
    whereabouts where a session is now

Promise: see ``running``. What is brought in is data with the trust ``import``: it can be found
and quoted, and is never taken for what the user said here.
"""
