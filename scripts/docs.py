"""Writes the generated pages, and checks that all pages are true.

python -m scripts.docs            write docs/cli.md and docs/configuration.md again
python -m scripts.docs --check    fail if they are stale, a link is dead, or a promise in
                                  ARCHITECTURE.md names a test that does not exist
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from holdfast.cli.app import app
from holdfast.config.reference import config_reference

ROOT = Path(__file__).resolve().parent.parent


def generated_pages() -> dict[Path, str]:
    return {
        ROOT / "docs" / "cli.md": cli_reference(),
        ROOT / "docs" / "configuration.md": config_reference(),
    }


def cli_reference() -> str:
    """Every command with its arguments and options, from the commands themselves."""
    root = typer.main.get_command(app)
    blocks = [
        "# The command line",
        "Generated from the commands by `make docs`. stdout is the answer, stderr is everything "
        "else. With `--json`, stdout holds one compact JSON object per line and nothing else; "
        'where there are several, the last line is the summary (`"summary":true`).',
        "Exit codes: 0 done · 1 failed · 2 wrong usage or config · 3 not found · 4 what must be "
        "sent does not fit · 5 storage "
        "failed or damaged · 6 refused (a name or link that could leave its folder).",
        _options("Options before any command", root),
    ]
    blocks += _commands(root, "holdfast")
    return "\n\n".join(block for block in blocks if block) + "\n"


def _commands(group: Any, path: str) -> Iterator[str]:
    for name, command in group.commands.items():
        here = f"{path} {name}"
        if hasattr(command, "commands"):
            yield f"## `{here}`\n\n{_sentence(command.help)}"
            yield from _commands(command, here)
            continue
        arguments = [
            each.metavar or each.name.upper() for each in command.params if _is_argument(each)
        ]
        level = "##" if path == "holdfast" else "###"
        yield f"{level} `{' '.join([here, *arguments])}`\n\n{_sentence(command.help)}"
        yield _options("", command)


def _options(title: str, command: Any) -> str:
    rows = [
        f"| `{', '.join(each.opts)}` | {_sentence(each.help)} |"
        for each in command.params
        if each.name not in {"help", "install_completion", "show_completion"}
    ]
    if not rows:
        return ""
    table = "\n".join(["| | |", "|---|---|", *rows])
    return f"## {title}\n\n{table}" if title else table


def _is_argument(parameter: Any) -> bool:
    return str(parameter.param_type_name) == "argument"


def _sentence(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", "\\|")


def stale_pages() -> list[str]:
    return [
        f"{path.relative_to(ROOT)} is stale: run make docs"
        for path, text in generated_pages().items()
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


def pages() -> list[Path]:
    return sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def dead_links() -> list[str]:
    """Links between pages, and to files of the repository, that lead nowhere."""
    dead = []
    for page in pages():
        text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
        for target in re.findall(r"\]\(([^)\s]+)\)", text):
            if re.match(r"[a-z]+:", target) or target.startswith("#"):
                continue
            if not (page.parent / target.partition("#")[0]).exists():
                dead.append(f"{page.relative_to(ROOT)} links to {target}, which does not exist")
    return dead


def missing_tests() -> list[str]:
    """Test files and functions that a page or a docstring names and that do not exist."""
    missing = []
    named = re.compile(r"tests/[\w/]+\.py(?:::\w+)?")
    for page in [*pages(), *(ROOT / "src").rglob("*.py")]:
        for reference in named.findall(page.read_text(encoding="utf-8")):
            file, _, function = reference.partition("::")
            path = ROOT / file
            if not path.exists() or (
                function and f"def {function}(" not in path.read_text("utf-8")
            ):
                missing.append(f"{page.relative_to(ROOT)} names {reference}, which does not exist")
    return missing


def main() -> None:
    if "--check" in sys.argv:
        problems = [*stale_pages(), *dead_links(), *missing_tests()]
        for problem in problems:
            print(f"docs: {problem}", file=sys.stderr)
        sys.exit(1 if problems else 0)
    for path, text in generated_pages().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
