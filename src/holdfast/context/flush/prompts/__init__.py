"""The default prompts of the flush, as files: ``<name>.v<version>.<language>.md``.

A version that has been released is never changed; a better wording is a new version. No prompt
holds an example of a memory, because small models copy examples into what they write
(``tests/context/test_flush_prompts.py``).
"""
