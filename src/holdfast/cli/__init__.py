"""How a person reaches the engine: arguments in, answers out, no decisions of its own."""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """The command ``holdfast``: stdout is the answer, stderr is everything else."""
    from holdfast.cli.app import app
    from holdfast.errors import HoldfastError

    try:
        app(prog_name="holdfast")
    except HoldfastError as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        sys.exit(error.exit_code)
    except BrokenPipeError:  # `holdfast … | head`: the reader has had enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
