"""Replace skill folders and the lock file together: all of them, or none.

1. A journal next to the lock file names the folders that will change.
2. The new folders are written to `.vskill-platform/` in the same skills folder.
3. The journal records them; then each is exchanged with the one that it replaces.
4. The lock file is replaced.
5. The journal is deleted: from here on the change is done. The old folders are deleted last.

A run that finds a journal undoes the change: the process that wrote it was killed. The journal of a
foreign repo is as untrusted as its lock file, so its paths pass the same checks.
"""

import os
import secrets
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import msgspec

from vskill_platform.base.durable_files import sync_names, sync_tree
from vskill_platform.client.atomic_folders import exchange, locked
from vskill_platform.client.install_folders import STAGING, InstallScope, check_folder_name
from vskill_platform.client.lock_file import place_of, read_text
from vskill_platform.errors import ConfigError, InvalidInput

_JOURNAL_SUFFIX = ".journal"

#: Writes the files of a skill to a new folder.
Write = Callable[[Path], None]


class FolderChange(msgspec.Struct, frozen=True, kw_only=True):
    """A skill's folder to replace, or to remove if there is nothing to write."""

    #: The skills folder as named in the lock file, and the name of the skill.
    folder: str
    name: str
    write: Write | None = None


class _Move(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    folder: str
    name: str
    #: The inodes identify the folders after an interruption; 0 means that there is none.
    old: int = 0
    new: int = 0


class _Journal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    #: The name of the staging folder.
    id: str
    moves: tuple[_Move, ...]
    #: The text of the lock file before the change; None if there was none.
    lock: str | None
    #: Skills folders that did not exist before, deepest first.
    made: tuple[str, ...] = ()


@contextmanager
def exclusive(scope: InstallScope, *, on_wait: Callable[[], None] | None = None) -> Iterator[None]:
    """Keep other runs from changing this scope, after undoing the changes of a killed run."""
    folder = scope.lock.parent
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder, on_wait):
            recover(scope)
            yield
    except OSError as error:
        raise ConfigError(
            f"{error.filename or folder} cannot be written: {error.strerror}"
        ) from error


def needs_recovery(scope: InstallScope) -> bool:
    """Return whether a run was killed while it changed folders, or is changing them now."""
    return _journal_of(scope).exists()


def replace_folders(
    scope: InstallScope, changes: Sequence[FolderChange], lock_text: str | None
) -> None:
    """Make all changes and write the lock file; call it only within `exclusive`.

    Without *lock_text* the lock file stays unchanged, byte for byte.
    """
    journal = _plan(scope, changes)
    with ExitStack() as stack:
        # Undoes everything unless the journal was deleted; the second one runs before the locks
        # end.
        stack.callback(recover, scope)
        _write_journal(scope, journal)
        _lock_folders(scope, journal, stack)
        stack.callback(recover, scope)
        for place in _places(scope, journal):
            _sweep(place.parent)
        journal = _stage(scope, journal, changes)
        for number, move in enumerate(journal.moves):
            _put_in_place(scope, journal, number, move)
        for folder in {place.parent for place in _places(scope, journal)}:
            sync_names(folder)
        if lock_text is not None:
            write_file(scope.lock, lock_text)
        _journal_of(scope).unlink()
        _delete_staged(scope, journal)


def recover(scope: InstallScope) -> None:
    """Undo an interrupted change with the help of its journal."""
    path = _journal_of(scope)
    for half_written in (_new_of(path), _new_of(scope.lock)):
        half_written.unlink(missing_ok=True)
    text = read_text(path)
    if text is None:
        return
    try:
        journal = msgspec.json.decode(text, type=_Journal)
    except (msgspec.DecodeError, ValueError) as error:
        raise ConfigError(f"{path} is damaged: {error}; delete it and run `verify`") from error
    _check(scope, journal)
    for number, move in enumerate(journal.moves):
        _take_back(scope, journal, number, move)
    if read_text(scope.lock) != journal.lock:
        if journal.lock is None:
            scope.lock.unlink()
        else:
            write_file(scope.lock, journal.lock)
    _delete_staged(scope, journal)
    for made in journal.made:
        with suppress(OSError):  # it is used, or no longer exists
            scope.place(made).rmdir()
    path.unlink()


def write_file(path: Path, text: str) -> None:
    """Replace a file in one step."""
    new = _new_of(path)
    with new.open("w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    sync_names(path.parent)


def _new_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.new")


def _plan(scope: InstallScope, changes: Sequence[FolderChange]) -> _Journal:
    """Return the journal entries of the folders that will change, to be written first."""
    moves = tuple(_Move(folder=one.folder, name=one.name) for one in changes)
    journal = _Journal(id=secrets.token_hex(8), moves=moves, lock=read_text(scope.lock))
    missing: dict[Path, None] = {}
    for place in _places(scope, journal):
        for folder in (place.parent, *place.parent.parents):
            if folder.exists() or not folder.is_relative_to(scope.root):
                break
            missing[folder] = None
    made = sorted(missing, key=lambda folder: len(folder.parts), reverse=True)
    journal = msgspec.structs.replace(
        journal, made=tuple(scope.stored(folder) for folder in made if folder != scope.root)
    )
    _check(scope, journal)
    return journal


def _lock_folders(scope: InstallScope, journal: _Journal, stack: ExitStack) -> None:
    """Also lock the skills folders, because another scope may use the same ones."""
    for place in _places(scope, journal):
        place.parent.mkdir(parents=True, exist_ok=True)
    folders = {place.parent.resolve() for place in _places(scope, journal)}
    # Locked already, and a second lock would wait for the first.
    folders.discard(scope.lock.parent.resolve())
    for folder in sorted(folders):  # sorted, so that no two runs deadlock
        stack.enter_context(locked(folder, None))


def _stage(scope: InstallScope, journal: _Journal, changes: Sequence[FolderChange]) -> _Journal:
    """Write the new folders, and record in the journal which is which."""
    moves = []
    for number, (move, change) in enumerate(zip(journal.moves, changes, strict=True)):
        staged, new = _staged(scope, journal, number), 0
        staged.parent.mkdir(parents=True, exist_ok=True)
        if change.write is not None:
            change.write(staged)
            sync_tree(staged)
            new = _inode(staged)
        old = _inode(place_of(scope, move.folder, move.name))
        moves.append(msgspec.structs.replace(move, old=old, new=new))
    journal = msgspec.structs.replace(journal, moves=tuple(moves))
    _write_journal(scope, journal)
    return journal


def _put_in_place(scope: InstallScope, journal: _Journal, number: int, move: _Move) -> None:
    place, staged = place_of(scope, move.folder, move.name), _staged(scope, journal, number)
    if not move.old:
        if move.new:
            staged.rename(place)
    elif not move.new:
        place.rename(_replaced(scope, journal, number))
    elif not exchange(staged, place):
        place.rename(_replaced(scope, journal, number))
        staged.rename(place)


def _take_back(scope: InstallScope, journal: _Journal, number: int, move: _Move) -> None:
    """Move the old folder back from wherever the interruption left it."""
    place, staged = place_of(scope, move.folder, move.name), _staged(scope, journal, number)
    if not move.old and not move.new:
        return  # killed before anything was moved
    if move.new and _inode(place) == move.new:
        if move.old and _inode(staged) == move.old and exchange(staged, place):
            return
        place.rename(staged.with_name(f"{number}.undone"))
    for kept in (staged, _replaced(scope, journal, number)):
        if move.old and _inode(kept) == move.old:
            kept.rename(place)
    if move.old and _inode(place) != move.old:
        raise ConfigError(
            f"an installation was interrupted, and the folder {place} that it replaced is gone; "
            f"look in {staged.parent}, then delete {_journal_of(scope)}"
        )


def sweep_leftovers(scope: InstallScope, folders: Iterable[Path]) -> None:
    """Delete what runs left in skills folders if they were killed after their change."""
    for folder in sorted({folder for folder in folders if (folder / STAGING).is_dir()}):
        # A folder that cannot be written can still be listed.
        with suppress(OSError, ConfigError), exclusive(scope), ExitStack() as stack:
            if folder.resolve() != scope.lock.parent.resolve():
                stack.enter_context(locked(folder, None))
            _sweep(folder)


def _sweep(folder: Path) -> None:
    staging = folder / STAGING
    if staging.is_symlink():
        return
    with suppress(FileNotFoundError):
        for left in staging.iterdir():
            _delete(left)
        staging.rmdir()


def _delete_staged(scope: InstallScope, journal: _Journal) -> None:
    for place in _places(scope, journal):
        staging = place.parent / STAGING
        _delete(staging / journal.id)
        with suppress(OSError):  # another run uses it
            staging.rmdir()


def _delete(path: Path) -> None:
    """Delete folders that are no longer needed; the next run deletes the rest."""
    with suppress(OSError):
        if stat.S_ISDIR(path.lstat().st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink()


def _check(scope: InstallScope, journal: _Journal) -> None:
    if not journal.id.isalnum() or not journal.id.isascii():
        raise InvalidInput(f"{_journal_of(scope)} is damaged; delete it and run `verify`")
    for move in journal.moves:
        check_folder_name(move.name)
        staging = place_of(scope, move.folder, move.name).parent / STAGING
        if staging.is_symlink() or (staging / journal.id).is_symlink():
            raise InvalidInput(f"{staging} is a link; delete it")
    for made in journal.made:
        scope.place(made)


def _places(scope: InstallScope, journal: _Journal) -> list[Path]:
    return [place_of(scope, move.folder, move.name) for move in journal.moves]


def _staged(scope: InstallScope, journal: _Journal, number: int) -> Path:
    """Return the path of a new folder: two levels deep, where no agent looks for skills."""
    move = journal.moves[number]
    return place_of(scope, move.folder, move.name).parent / STAGING / journal.id / str(number)


def _replaced(scope: InstallScope, journal: _Journal, number: int) -> Path:
    return _staged(scope, journal, number).with_name(f"{number}.old")


def _journal_of(scope: InstallScope) -> Path:
    return scope.lock.with_name(scope.lock.name + _JOURNAL_SUFFIX)


def _write_journal(scope: InstallScope, journal: _Journal) -> None:
    write_file(_journal_of(scope), msgspec.json.encode(journal).decode())


def _inode(path: Path) -> int:
    try:
        return path.lstat().st_ino
    except FileNotFoundError:
        return 0
