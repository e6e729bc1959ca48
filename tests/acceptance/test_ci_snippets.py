"""The snippets for GitHub Actions and GitLab CI, with their shell steps as they are written.

Only three things differ from a real job: the URL of the registry, a `pip` that checks its arguments
and installs nothing, and a provider of job tokens of our own.
"""

import asyncio
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec
import pytest
import yaml
from packaging.requirements import Requirement

from tests.acceptance.ports import free_port
from tests.acceptance.processes import Finished
from tests.acceptance.program import PROGRAM, Platform
from tests.browser.registry import RISKY, STEALS, own_words
from tests.casts import a_skill_folder
from tests.local_server import local_server
from tests.oidc_provider import OidcProvider, oidc_provider

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

ROOT = Path(__file__).parents[2]
EXAMPLE = "https://skills.example"
#: As in the docs, below the snippets.
CI_TOKEN = 'export VSKILL_TOKEN="$(vskill-platform ci-token --namespace @ada)"'
_SECRET = re.compile(r"\$\{\{ secrets\.VSKILL_TOKEN \}\}")


class Job(msgspec.Struct, frozen=True):
    """What a snippet says: variables, and the steps that a shell runs."""

    variables: dict[str, str]
    steps: list[list[str]]
    #: Exit codes with which the job does not fail.
    tolerated: list[int]
    #: Each step is its own script, with these options of its shell.
    shell: str

    def replace_in_steps(self, old: str, new: str) -> "Job":
        steps = [[line.replace(old, new) for line in step] for step in self.steps]
        return msgspec.structs.replace(self, steps=steps)


def github_job() -> Job:
    """Read the snippet as GitHub does: each step is a file for `bash -e`."""
    snippet = yaml.safe_load((ROOT / "deploy/ci/github-actions.yml").read_text())
    job = snippet["jobs"]["publish"]
    assert set(snippet) == {"name", True, "permissions", "jobs"}  # YAML reads `on` as a truth value
    assert snippet["permissions"] == {"contents": "read"}
    assert _SECRET.fullmatch(job["env"]["VSKILL_TOKEN"])
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", one) for one in used)
    steps = [[step["run"]] for step in job["steps"] if "run" in step]
    return Job(job["env"], steps, [], "-e")


def gitlab_job() -> Job:
    """Read the snippet as GitLab does: the lines of `script` are one script."""
    (job,) = yaml.safe_load((ROOT / "deploy/ci/gitlab-ci.yml").read_text()).values()
    assert set(job) == {"image", "variables", "rules", "script", "allow_failure"}
    assert all(isinstance(line, str) for line in job["script"])
    return Job(
        job["variables"], [job["script"]], job["allow_failure"]["exit_codes"], "-eo pipefail"
    )


JOBS = {"github": github_job, "gitlab": gitlab_job}


class Runner(msgspec.Struct, frozen=True):
    """A machine that runs jobs, with a checkout of the repository of the skill."""

    folder: Path
    url: str

    def write(self, **files: str) -> None:
        shutil.rmtree(self.folder / "skills", ignore_errors=True)
        folder = a_skill_folder(self.folder / "skills", "my-skill", **files)
        (folder / "SKILL.md").write_text(own_words("my-skill"))

    def run(self, job: Job, **environ: str) -> Finished:
        """Run the steps until one fails; the code is that of the last one, 0 if it is tolerated."""
        variables = {**job.variables, **environ}
        assert variables.pop("VSKILL_REGISTRY") == EXAMPLE
        out, err, code = "", "", 0
        for step in job.steps:
            done = subprocess.run(
                ["bash", *job.shell.split(), "-c", "\n".join(step)],
                capture_output=True,
                text=True,
                cwd=self.folder,
                env={**self._environment(), "VSKILL_REGISTRY": self.url, **variables},
                timeout=60,
                check=False,
            )
            out, err, code = out + done.stdout, err + done.stderr, done.returncode
            if code:
                break
        return Finished(0 if code in job.tolerated else code, out, err)

    def requirement(self) -> Requirement:
        """Return what the last job has installed."""
        command, *given = (self.folder / "pip-arguments").read_text().splitlines()
        assert command == "install"
        (wanted,) = given
        return Requirement(wanted)

    def _environment(self) -> dict[str, str]:
        tools = self.folder / "bin"
        if not tools.exists():
            tools.mkdir()
            (tools / "pip").write_text(
                f'#!/bin/sh\nprintf "%s\\n" "$@" > {self.folder}/pip-arguments\n'
            )
            (tools / "pip").chmod(0o755)
        path = os.pathsep.join([str(tools), str(Path(PROGRAM).parent), os.environ["PATH"]])
        return {"PATH": path, "HOME": str(self.folder), "CI": "true"}


class Server(msgspec.Struct, frozen=True):
    platform: Platform
    url: str

    def token(self) -> str:
        scopes = ("--scope", "read", "--scope", "submit")
        made = self.platform.run("tokens", "add", "ada", "--label", "ci", "--json", *scopes)
        return str(msgspec.json.decode(made.out)["token"])


def start(folder: Path, **settings: str) -> Server:
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    folder.mkdir(exist_ok=True)
    platform = Platform(folder, public_url=url, **settings)
    platform.start("serve", port=str(port)).wait_for("vskill-platform is at")
    platform.run("users", "add", "ada", "--role", "publisher")
    return Server(platform, url)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    started = start(tmp_path_factory.mktemp("server"))
    yield started
    started.platform.end_everything()


@pytest.mark.parametrize("ci", JOBS)
def test_a_job_publishes_with_a_stored_token(server: Server, tmp_path: Path, ci: str) -> None:
    job, runner = JOBS[ci](), Runner(tmp_path, server.url)
    token = server.token()
    name = f"{ci}-skill"
    job = job.replace_in_steps("skills/my-skill", f"skills/{name}")

    def run(**files: str) -> Finished:
        runner.write(**files)
        (tmp_path / "skills/my-skill").rename(tmp_path / "skills" / name)
        manifest = tmp_path / "skills" / name / "SKILL.md"
        manifest.write_text(own_words(name))
        return runner.run(job, VSKILL_TOKEN=token)

    published, again = run(), run()
    waiting, refused = run(run_dot_sh=RISKY), run(run_dot_sh=STEALS)
    without = runner.run(job, VSKILL_TOKEN="")

    assert (published.code, again.code) == (0, 0), published
    assert f"Published as @ada/{name}" in published.out
    assert waiting.code == 0, waiting
    assert "It needs review" in waiting.out
    assert ("::warning::" in waiting.out) == (ci == "github")
    assert (refused.code, without.code) == (1, 1), (refused, without)
    assert token not in f"{published}{refused}{waiting}"
    required = runner.requirement()
    assert required.name == "vskill-platform"
    assert required.url
    assert re.fullmatch(r"git\+https://[^@]+@v\d+\.\d+\.\d+", required.url)


def a_job_token(ci: OidcProvider, audience: str, **claims: Any) -> str:
    now = int(datetime.now(UTC).timestamp())
    told = {
        "iss": ci.url, "aud": audience, "iat": now, "exp": now + 300,
        "jti": secrets.token_hex(8), "ref": "refs/heads/main", **claims,
    }  # fmt: skip
    return ci.sign(told)


@asynccontextmanager
async def github_variables(ci: OidcProvider, audience: str) -> AsyncIterator[dict[str, str]]:
    """Answer the requests of jobs for their tokens; yield the variables of such a job."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        assert f"audience={quote(audience, safe='')}" in head
        assert "Bearer hush" in head
        signed = a_job_token(
            ci, audience,
            repository="acme/skills", repository_id="4711", event_name="push", run_id="99",
            workflow_ref="acme/skills/.github/workflows/publish-skill.yml@refs/heads/main",
            sub="repo:acme/skills:ref:refs/heads/main",
        )  # fmt: skip
        body = msgspec.json.encode({"value": signed})
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n")
        writer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body), body))
        await writer.drain()
        writer.close()

    async with local_server(serve) as url:
        yield {
            "ACTIONS_ID_TOKEN_REQUEST_URL": f"{url}/ids?api-version=2.0",
            "ACTIONS_ID_TOKEN_REQUEST_TOKEN": "hush",
        }


@asynccontextmanager
async def gitlab_variables(ci: OidcProvider, audience: str) -> AsyncIterator[dict[str, str]]:
    signed = a_job_token(
        ci, audience,
        project_path="acme/skills", project_id="4711", namespace_path="acme", pipeline_id="99",
        ref_type="branch", ref_path="refs/heads/main", pipeline_source="push",
        ci_config_ref_uri="gitlab.example/acme/skills//.gitlab-ci.yml@refs/heads/main",
        sub="project_path:acme/skills:ref_type:branch:ref:main",
    )  # fmt: skip
    yield {"VSKILL_ID_TOKEN": signed}


VARIABLES = {"github": github_variables, "gitlab": gitlab_variables}
ISSUERS = {"github": "github_actions_issuers", "gitlab": "gitlab_issuers"}


@asynccontextmanager
async def a_server_that_allows(
    issuer: OidcProvider, ci: str, folder: Path
) -> AsyncIterator[Server]:
    """Start a registry; its settings allow the issuer, but no repository is trusted yet."""
    issuer.metadata = {"authorization_endpoint": "", "token_endpoint": ""}
    started = await asyncio.to_thread(start, folder, **{ISSUERS[ci]: issuer.url})
    try:
        yield started
    finally:
        await asyncio.to_thread(started.platform.end_everything)


@pytest.mark.parametrize("ci", JOBS)
async def test_a_job_of_a_trusted_repository_publishes_without_a_stored_token(
    tmp_path: Path, ci: str
) -> None:
    job = JOBS[ci]()
    job.variables.pop("VSKILL_TOKEN", None)
    publish = "publish skills/my-skill"
    job = job.replace_in_steps(publish, f"{publish} --namespace @ada")
    exported = msgspec.structs.replace(job, steps=[[CI_TOKEN, *job.steps[-1]]])
    async with (
        oidc_provider(lambda: datetime.now(UTC)) as issuer,
        a_server_that_allows(issuer, ci, tmp_path / "server") as server,
    ):
        runner = Runner(tmp_path, server.url)
        runner.write()

        async def run(job: Job) -> Finished:
            async with VARIABLES[ci](issuer, server.url) as variables:
                return await asyncio.to_thread(runner.run, job, **variables)

        untrusted = await run(job)
        trusted = await asyncio.to_thread(
            server.platform.run,
            "admin", "trusted-publishers", "add", "@ada", "acme/skills", "--owner", "ada",
            "--ci", issuer.url,
        )  # fmt: skip
        published, again = await run(job), await run(exported)

    assert trusted.code == 0, trusted
    assert untrusted.code == 1, untrusted
    assert published.code == 0, published
    assert "Published as @ada/my-skill" in published.out
    assert again.code == 0, again
    assert CI_TOKEN.replace("@ada", "@acme") in (ROOT / "docs/publishing-from-ci.md").read_text()
