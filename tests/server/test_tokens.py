"""The token in the file, codes that work once, tokens of browsers."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

import holdfast
from holdfast.errors import PolicyRefused, StorageError
from holdfast.server.tokens import CODE_LASTS, Given, TokenFile, Tokens, TooManyTries
from holdfast.testing import FixedClock
from tests.scale import scaled


@pytest.fixture
def file(home: Path) -> TokenFile:
    return TokenFile(home)


def signed_in(tokens: Tokens) -> str:
    given = tokens.sign_in(code=tokens.new_code().secret)
    assert given is not None
    return given.secret


@pytest.mark.usefixtures("any_umask")
def test_the_file_is_private_and_made_once(file: TokenFile) -> None:
    assert file.read() is None
    token = file.make()
    assert token.startswith("hfs_")
    assert len(token) == 47
    assert file.make() == file.read() == token
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
    assert file.rotate() != token
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600


def test_two_that_start_at_once_have_one_token(home: Path) -> None:
    found: list[str] = []
    threads = [Thread(target=lambda: found.append(TokenFile(home).make())) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(set(found)) == 1


@settings(max_examples=scaled(25))
@given(st.binary(max_size=80))
def test_a_file_with_anything_else_lets_nobody_in(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    file = TokenFile(tmp_path_factory.getbasetemp() / "odd")
    file.path.write_bytes(data)
    with pytest.raises(StorageError, match="nobody is let in"):
        file.read()
    with pytest.raises(StorageError, match="nobody is let in"):
        Tokens(file, FixedClock().now).who(data.decode("utf-8", "replace"))


def test_a_token_behind_a_symlink_is_not_followed(home: Path, tmp_path: Path) -> None:
    file = TokenFile(home)
    (tmp_path / "mine").write_text("hfs_" + "a" * 43)
    file.path.symlink_to(tmp_path / "mine")
    with pytest.raises(PolicyRefused, match="does not follow"):
        file.read()


def test_a_code_ends_after_five_minutes(file: TokenFile, clock: FixedClock) -> None:
    file.make()
    tokens = Tokens(file, clock.now)
    early, late = tokens.new_code(), tokens.new_code()
    assert early.expires_at - clock.now() <= CODE_LASTS
    clock.advance(seconds=CODE_LASTS.total_seconds() - 2)
    assert tokens.sign_in(code=early.secret) is not None
    clock.advance(seconds=2)
    assert tokens.sign_in(code=late.secret) is None


def test_a_browser_that_is_used_stays_in_and_one_that_is_not_is_out(
    file: TokenFile, clock: FixedClock
) -> None:
    file.make()
    tokens = Tokens(file, clock.now)
    used, idle = signed_in(tokens), signed_in(tokens)
    for _ in range(3):
        clock.advance(seconds=5 * 3600)
        assert tokens.who(used) == "browser"
    assert tokens.who(idle) is None
    assert tokens.who(used) == "browser"


def test_a_stream_that_only_looks_keeps_nobody_in(file: TokenFile, clock: FixedClock) -> None:
    file.make()
    tokens = Tokens(file, clock.now)
    token = signed_in(tokens)
    for _ in range(13):
        clock.advance(seconds=3600)
        seen = tokens.who(token, is_used=False)
    assert seen is None


def test_a_code_is_worth_one_token_whoever_is_first(file: TokenFile, clock: FixedClock) -> None:
    file.make()
    tokens = Tokens(file, clock.now)
    code = tokens.new_code().secret
    given: list[Given | None] = []

    def enter() -> None:
        given.append(tokens.sign_in(code=code))

    threads = [Thread(target=enter) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sum(each is not None for each in given) == 1


def test_what_is_given_out_is_bounded(file: TokenFile, clock: FixedClock) -> None:
    file.make()
    tokens = Tokens(file, clock.now)
    codes = [tokens.new_code().secret for _ in range(100)]
    assert tokens.sign_in(code=codes[-1]) is not None
    assert tokens.sign_in(code=codes[0]) is None
    browsers = [signed_in(tokens) for _ in range(300)]
    assert tokens.who(browsers[0]) is None
    assert tokens.who(browsers[-1]) == "browser"
    assert len(tokens._browsers) <= 256
    assert not any(each in repr(vars(tokens)) for each in browsers), "only hashes are kept"


def test_guessing_costs_a_minute(file: TokenFile, clock: FixedClock) -> None:
    master = file.make()
    tokens = Tokens(file, clock.now)
    guesses: list[Callable[[], Given | None]] = [
        lambda: tokens.sign_in(code="guess"),
        lambda: tokens.sign_in(token="hfs_" + "x" * 43),
    ]
    for n in range(10):
        assert guesses[n % 2]() is None
        clock.advance(seconds=1)
    for guess in guesses:
        with pytest.raises(TooManyTries, match="within a minute"):
            guess()
    assert tokens.sign_in(token=master) is not None, "nobody is locked out by others' guesses"
    assert tokens.sign_in(code=tokens.new_code().secret) is not None
    clock.advance(seconds=51)
    assert guesses[0]() is None, "the first of them is a minute ago"


class Life(RuleBasedStateMachine):
    """Whatever is done in whatever order, only what was given out and has not ended lets in."""

    home: Path

    def __init__(self) -> None:
        super().__init__()
        self.clock = FixedClock()
        self.file = TokenFile(self.home)
        self.master = self.file.rotate()
        self.old: set[str] = set()
        self.tokens = Tokens(self.file, self.clock.now)
        self.codes: list[str] = []
        self.live: set[str] = set()

    @rule()
    def code(self) -> None:
        self.codes.append(self.tokens.new_code().secret)

    @rule()
    def enter(self) -> None:
        if self.codes:
            code = self.codes.pop()
            given = self.tokens.sign_in(code=code)
            assert given is not None
            self.live.add(given.secret)
            self.old.add(code)

    @rule()
    def leave(self) -> None:
        if self.live:
            gone = self.live.pop()
            self.tokens.sign_out(gone)
            self.old.add(gone)

    @rule()
    def rotate(self) -> None:
        self.old |= {self.master, *self.live, *self.codes}
        self.live.clear()
        self.codes.clear()
        self.master = self.file.rotate()

    @rule()
    def wait(self) -> None:
        self.clock.advance(seconds=CODE_LASTS.total_seconds())
        self.old |= set(self.codes)
        self.codes.clear()

    @invariant()
    def only_what_holds_lets_in(self) -> None:
        assert self.tokens.who(self.master) == "master"
        assert all(self.tokens.who(each) == "browser" for each in self.live)
        assert not any(self.tokens.who(each) for each in (*self.old, *self.codes))


def test_only_what_holds_lets_in(home: Path) -> None:
    class Here(Life):
        pass

    Here.home = home
    run_state_machine_as_test(
        Here, settings=settings(max_examples=scaled(8), stateful_step_count=20)
    )


def test_no_backup_has_the_token(home: Path, tmp_path: Path) -> None:
    with holdfast.open(home) as engine:
        engine.remember("Anna lives in Lisbon.")
        token = TokenFile(home).make().encode()
        engine.backup(tmp_path / "all.zip")
    with zipfile.ZipFile(tmp_path / "all.zip") as packed:
        found = {name: packed.read(name) for name in packed.namelist()}
    assert any(b"Lisbon" in data for data in found.values())
    assert not any(token in data for data in found.values())
    assert TokenFile(home).path.name not in found
