"""Claude Code's hooks: what it loses by compacting is saved before, and told again after.

    calls       what Claude Code says when it calls a hook
    logs        which log of a conversation may be read
    answering   what a hook does: bring in, save, tell what is known
    editing     a settings file changed in one place, the rest byte for byte
    installing  our entries in it: a plan, a diff, the way back

Promise: a hook never stops Claude Code, whatever goes wrong and however long it takes, and says
what went wrong (``tests/doors/test_hooks.py``); installing changes nothing else in a settings
file and can be taken back (``tests/doors/test_hooks_install.py``).
"""
