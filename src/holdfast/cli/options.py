"""What every command has in common: the options before it, and ``--json``."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

if TYPE_CHECKING:
    from holdfast.engine.facade import Engine
    from holdfast.types import ChatType

__all__ = ["AsJson", "Door", "Window", "door"]

AsJson = Annotated[bool, typer.Option("--json", help="One compact JSON object per line.")]

Window = Annotated[
    int | None,
    typer.Option(
        min=2000, metavar="N", help="What the model can read, in tokens. [default: context.window]"
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """Which engine the options before the command ask for."""

    home: Path | None
    agent: str
    user: str | None = None
    chat: str | None = None
    chat_type: str | None = None

    def open(self, *, background: bool = False) -> Engine:
        """The engine. Most commands are gone before a thread would have begun; one that stays
        has ``background`` work done beside it."""
        from holdfast.engine.facade import open_engine

        return open_engine(
            self.home_path(),
            self.agent,
            user=self.user,
            chat=self.chat,
            chat_type=cast("ChatType", self.chat_type or ("group" if self.chat else "direct")),
            background=background,
        )

    @property
    def folder(self) -> str:
        """Where the files of this place are, from the agent's own folder."""
        if self.chat:
            return f"chats/{self.chat}/"
        return f"users/{self.user}/" if self.user else ""

    def command(self, *words: str) -> str:
        """A command to paste that means the same place as this one."""
        options = {
            "--home": None if self.home is None else str(self.home),
            "--agent": None if self.agent == "main" else self.agent,
            "--user": self.user,
            "--chat": self.chat,
            "--chat-type": self.chat_type,
        }
        given = [word for name, value in options.items() if value for word in (name, value)]
        return shlex.join(["holdfast", *given, *words])

    def home_path(self) -> Path | None:
        """Where the options say that the home is; None: where the environment does."""
        from holdfast.errors import UsageError

        if self.home == Path() and not Path.cwd().joinpath("agents").is_dir():
            raise UsageError("--home is empty.", hint="Name a folder, or leave the option out.")
        return self.home


def door(context: typer.Context) -> Door:
    """What the options before the command said."""
    found = context.find_object(Door)
    assert found is not None
    return found
