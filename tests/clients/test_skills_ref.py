"""The validator of the agent skills format accepts what is published here."""

from tests.clients.registry import Home, Registry, make_tree, python_client


def test_a_downloaded_skill_passes_the_reference_validator(
    registry: Registry, acme: str, home: Home
) -> None:
    registry.publish(acme, "valid-skill")
    detail = registry.get_json("/api/v1/skills/@acme/valid-skill")["skill"]
    make_tree(home.project, {"valid-skill/SKILL.md": detail["content"]})

    done = home.run(python_client("agentskills"), "validate", home.project / "valid-skill")

    assert done.code == 0, done
