"""Each capability with the lines that show it."""

from vskill_platform.web.skills.capabilities import find_places


def test_each_value_has_the_lines_that_contain_it_and_scripts_come_first() -> None:
    files = {
        "SKILL.md": b"Asks api.example for news.\n",
        "scripts/run.py": b"import os\n\nURL = 'https://api.example/news'\n",
        "picture.png": b"\x89PNG\0api.example",
    }

    (network,) = find_places({"hosts": ("api.example",)}, files)

    assert (network.id, network.label) == ("network", "Network")
    assert [(one.path, one.line) for one in network.values[0].places] == [
        ("scripts/run.py", 3),
        ("SKILL.md", 1),
    ]


def test_a_part_of_another_word_shows_nothing() -> None:
    files = {"run.py": b"ask('api.github.com')\nrun(['git', 'status'])\n"}

    (shell,) = find_places({"commands": ("git",)}, files)

    assert [one.line for one in shell.values[0].places] == [2]


def test_the_installer_before_a_package_is_not_searched_for() -> None:
    files = {"setup.sh": b"npm install playwright@1.49.0\n"}

    (installs,) = find_places({"installs": ("npm: playwright@1.49.0",)}, files)

    assert [one.line for one in installs.values[0].places] == [1]


def test_a_derived_value_has_no_line_and_many_values_are_counted() -> None:
    (shell,) = find_places({"commands": tuple(f"tool-{n}" for n in range(15))}, {})

    assert shell.values[0].places == ()
    assert (len(shell.values), shell.more) == (12, 3)


def test_a_shell_script_leads_to_its_first_line() -> None:
    files = {"SKILL.md": b"Run setup.sh.\n", "setup.sh": b"#!/bin/sh\ngit status\n"}

    (shell,) = find_places({"commands": ("setup.sh",)}, files)

    assert [(one.path, one.line, one.text) for one in shell.values[0].places] == [
        ("setup.sh", 1, "#!/bin/sh")
    ]


def test_secrets_in_a_line_are_not_shown() -> None:
    key = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    files = {"run.sh": f"curl -H 'Authorization: {key}' https://api.example\n".encode()}

    (network,) = find_places({"hosts": ("api.example",)}, files)

    assert key not in network.values[0].places[0].text
