import os
import stat
from pathlib import Path

import pytest

from tests.unit.client.conftest import MemoryKeyring
from vskill_platform.client.credentials import (
    Target,
    forget_registry,
    forget_token,
    name_for,
    read_registries,
    read_token,
    remember_registry,
    resolve_registry,
    use_registry,
)
from vskill_platform.client.used_registries import (
    list_used_registries,
    remember_used_registry,
)
from vskill_platform.errors import ConfigError, InvalidInput, NotFound

URL, OTHER = "https://skills.example", "https://other.example"


def test_a_token_is_kept_in_the_keyring(
    home: dict[str, str], system_keyring: MemoryKeyring, tmp_path: Path
) -> None:
    place = remember_registry("work", URL, "vsk_1", home)

    assert place == "keyring"
    assert system_keyring.kept == {("vskill-platform", URL): "vsk_1"}
    assert read_token("work", environ=home) == "vsk_1"
    assert all(b"vsk_1" not in f.read_bytes() for f in tmp_path.rglob("*") if f.is_file())


def test_without_a_keyring_a_token_is_in_a_file_of_its_owner(
    home: dict[str, str], no_keyring: None, tmp_path: Path
) -> None:
    place = remember_registry("work", URL, "vsk_1", home)

    path = tmp_path / "vskill-platform/tokens.json"
    assert place == "file"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert read_token("work", environ=home) == "vsk_1"


def test_a_file_that_others_can_read_is_refused(
    home: dict[str, str], no_keyring: None, tmp_path: Path
) -> None:
    remember_registry("work", URL, "vsk_1", home)
    (tmp_path / "vskill-platform/tokens.json").chmod(0o644)

    with pytest.raises(ConfigError, match="chmod 600"):
        read_token("work", environ=home)


def test_a_keyring_that_keeps_nothing_is_noticed(
    home: dict[str, str], system_keyring: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryKeyring, "set_password", lambda *_: None)

    assert remember_registry("work", URL, "vsk_1", home) == "file"


@pytest.mark.parametrize(
    "error", [ModuleNotFoundError("no dbus"), AttributeError("x"), ValueError()]
)
def test_a_keyring_that_fails_in_its_own_way_is_not_used(
    home: dict[str, str],
    system_keyring: MemoryKeyring,
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
) -> None:
    def fail(*_: object) -> None:
        raise error

    remember_registry("work", URL, "vsk_1", home)
    monkeypatch.setattr(system_keyring, "get_password", fail)
    monkeypatch.setattr(system_keyring, "delete_password", fail)

    with pytest.raises(ConfigError, match=r"cannot be read: [^.]+\. Unlock it, sign in again"):
        read_token("work", environ=home)
    with pytest.raises(ConfigError, match="cannot be deleted"):
        forget_registry("work", home)
    assert remember_registry("work", URL, "vsk_2", home) == "file"
    assert read_token("work", environ=home) == "vsk_2"
    assert forget_registry("work", home).url == URL


def test_the_last_registry_is_the_default(home: dict[str, str], no_keyring: None) -> None:
    remember_registry("work", URL, "vsk_1", home)
    remember_registry("other", OTHER, "vsk_2", home)

    assert resolve_registry(None, home) == Target(name="other", url=OTHER, token="vsk_2")

    use_registry("work", home)

    assert resolve_registry(None, home) == Target(name="work", url=URL, token="vsk_1")


def test_nothing_known_is_no_registry(home: dict[str, str]) -> None:
    assert resolve_registry(None, home) is None
    assert not Path(home["XDG_CONFIG_HOME"], "vskill-platform").exists()


def test_the_option_wins_over_the_variable_and_the_default(
    home: dict[str, str], no_keyring: None
) -> None:
    remember_registry("work", URL, "vsk_1", home)
    remember_registry("other", OTHER, "vsk_2", home)
    environ = {**home, "VSKILL_REGISTRY": "work"}

    assert resolve_registry(None, environ) == Target(name="work", url=URL, token="vsk_1")
    assert resolve_registry("other", environ) == Target(name="other", url=OTHER, token="vsk_2")


def test_a_known_address_gets_its_token(home: dict[str, str], no_keyring: None) -> None:
    remember_registry("work", URL, "vsk_1", home)

    assert resolve_registry(f"{URL}/", home) == Target(name="work", url=URL, token="vsk_1")


def test_an_unknown_address_is_visited_anonymously(home: dict[str, str]) -> None:
    assert resolve_registry("new.example", home) == Target(
        name="https://new.example", url="https://new.example"
    )


def test_an_unknown_name_says_what_is_known(home: dict[str, str], no_keyring: None) -> None:
    remember_registry("work", URL, "vsk_1", home)

    with pytest.raises(NotFound, match=r"'wrok' \(known: work\)"):
        resolve_registry("wrok", home)


def test_the_token_of_the_environment_is_for_the_registry_of_the_environment(
    home: dict[str, str], no_keyring: None
) -> None:
    remember_registry("work", URL, "vsk_1", home)
    environ = {**home, "VSKILL_REGISTRY": OTHER, "VSKILL_TOKEN": "vsk_ci"}

    here, there = resolve_registry(None, environ), resolve_registry("work", environ)

    assert here == Target(name=OTHER, url=OTHER, token="vsk_ci", token_source="VSKILL_TOKEN")
    assert there == Target(name="work", url=URL, token="vsk_1")


def test_signing_out_keeps_the_registry_and_deletes_the_token(
    home: dict[str, str], system_keyring: MemoryKeyring
) -> None:
    remember_registry("work", URL, "vsk_1", home)

    forget_token("work", home)

    assert system_keyring.kept == {}
    assert resolve_registry(None, home) == Target(name="work", url=URL)


def test_a_removed_registry_is_gone_with_its_token(home: dict[str, str], no_keyring: None) -> None:
    remember_registry("work", URL, "vsk_1", home)

    forget_registry("work", home)

    assert read_registries(home).registries == {}
    assert resolve_registry(None, home) is None
    with pytest.raises(NotFound):
        forget_registry("work", home)


def test_a_name_has_one_address(home: dict[str, str], no_keyring: None) -> None:
    remember_registry("work", URL, "vsk_1", home)

    with pytest.raises(InvalidInput, match="choose another name"):
        remember_registry("work", OTHER, "vsk_2", home)

    assert read_token("work", environ=home) == "vsk_1"


def test_an_address_has_one_name_because_it_has_one_token(
    home: dict[str, str], no_keyring: None
) -> None:
    remember_registry("work", URL, "vsk_1", home)
    remember_registry("other", URL, "vsk_2", home)

    assert list(read_registries(home).registries) == ["other"]
    assert read_token("other", environ=home) == "vsk_2"


def test_signing_in_again_keeps_the_name(home: dict[str, str], no_keyring: None) -> None:
    assert name_for("https://skills.example", home) == "skills.example"

    remember_registry("work", "https://skills.example", "vsk_1", home)

    assert name_for("https://skills.example", home) == "work"


def test_a_registry_is_chosen_by_its_address_too(home: dict[str, str], no_keyring: None) -> None:
    remember_registry("work", URL, "vsk_1", home)
    remember_registry("other", OTHER, "vsk_2", home)

    use_registry(URL, home)

    assert read_registries(home).default == "work"
    assert forget_registry(OTHER, home).url == OTHER
    assert list(read_registries(home).registries) == ["work"]


def test_a_damaged_file_is_an_error(home: dict[str, str], tmp_path: Path) -> None:
    folder = tmp_path / "vskill-platform"
    folder.mkdir()
    (folder / "registries.json").write_text("{")

    with pytest.raises(ConfigError, match="is damaged"):
        read_registries(home)


def test_a_token_is_in_no_representation() -> None:
    assert "vsk_1" not in repr(Target(name="work", url=URL, token="vsk_1"))


def test_a_registry_is_named_for_its_host(home: dict[str, str]) -> None:
    assert name_for("https://skills.example", home) == "skills.example"
    assert name_for("http://127.0.0.1:8000", home) == "127.0.0.1-8000"


def test_nobody_else_can_add_a_registry_that_lock_files_may_name(
    home: dict[str, str], tmp_path: Path
) -> None:
    before = os.umask(0)
    try:
        remember_used_registry(URL, home)
    finally:
        os.umask(before)

    path = tmp_path / "vskill-platform/used-registries"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert list_used_registries(home) == {URL}
