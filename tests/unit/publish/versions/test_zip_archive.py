"""The zip of a version that clients download."""

import io
import zipfile
from hashlib import sha256

from vskill_platform.fetch.pack import pack_contents
from vskill_platform.model.skill import SkillFile
from vskill_platform.publish.versions.zip_archive import repack_as_zip


def test_a_version_is_repacked_as_a_zip_that_is_the_same_on_every_machine() -> None:
    contents = {"SKILL.md": b"# Tidy\n", "scripts/run.sh": b"echo hi\n", "a/" + "n" * 150: b""}
    files = [
        SkillFile(
            path=path,
            size=len(content),
            sha256=sha256(content).hexdigest(),
            is_executable=path.endswith(".sh"),
        )
        for path, content in contents.items()
    ]

    made = repack_as_zip(pack_contents(files, list(contents.values())).content)

    with zipfile.ZipFile(io.BytesIO(made)) as opened:
        assert {name: opened.read(name) for name in opened.namelist()} == contents
        assert [oct(info.external_attr >> 16) for info in opened.infolist()] == [
            "0o100644",
            "0o100755",
            "0o100644",
        ]
    # Not to be changed: clients compare it with the digest that they have stored.
    assert sha256(made).hexdigest() == (
        "9e3c12413eec98d77c308bcf5b0acbf1b47fe8032711a844379734e5d655a540"
    )
