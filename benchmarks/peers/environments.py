"""One virtual environment per peer below ``.peers``, made once and kept while its list holds."""

from __future__ import annotations

import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

__all__ = ["python_of"]


def python_of(folder: Path, name: str, steps: Sequence[Sequence[str]]) -> Path:
    """The Python of the peer's environment; each of ``steps`` is one ``pip install``."""
    home = folder / name
    python = home / "bin" / "python"
    wanted = "\n".join(" ".join(step) for step in steps) + "\n"
    ready = home / "installed.txt"
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return python
    print(f"{name}: making its environment in {home} (once; takes minutes)", file=sys.stderr)
    venv.create(home, clear=True, with_pip=True)
    for step in steps:
        _install(python, step, name)
    ready.write_text(wanted, encoding="utf-8")
    return python


def _install(python: Path, packages: Sequence[str], name: str) -> None:
    command = [str(python), "-m", "pip", "install", "--quiet", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(
            f"{name}: pip could not install {' '.join(packages)}:\n{done.stderr[-2000:]}\n"
            "A build with +cpu in its version needs a source that has one: name it in "
            "PIP_FIND_LINKS or PIP_EXTRA_INDEX_URL and run it again."
        )
