"""`admin`: the commands that maintain the database."""

import msgspec
import pytest

from tests.acceptance.ports import free_port
from tests.acceptance.program import Platform
from tests.casts import a_skill_folder


@pytest.mark.slow
def test_vacuum_beside_a_server_says_how_much_was_given_back(platform: Platform) -> None:
    platform.submit(a_skill_folder(platform.folder))
    port = free_port()
    server = platform.start("serve", port=str(port))
    server.wait_for("vskill-platform is at")

    done = platform.run("admin", "vacuum", "--json")

    sizes = msgspec.json.decode(done.out)
    assert done.code == 0
    assert sizes["before_bytes"] >= sizes["after_bytes"] > 0
    assert server.end() == 0


def test_vacuum_needs_a_database(platform: Platform) -> None:
    refused = platform.run("admin", "vacuum")

    assert refused.code == 1
    assert "there is no database yet" in refused.err
    assert not platform.database.exists()
