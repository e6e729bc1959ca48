"""Paths of secrets, by the kind of program that keeps them."""

from tests.cases import all_cases
from vskill_platform.scan.facts.sensitive_paths import Secret, secret_in


@all_cases(
    ("path", "kind"),
    [
        ("~/.config/doctl/config.yaml", Secret.CLOUD),
        ("~/.databrickscfg", Secret.CLOUD),
        ("~/.config/rclone/rclone.conf", Secret.CLOUD),
        ("~/.config/containers/auth.json", Secret.CLOUD),
        ("~/.mozilla/firefox/x.default", Secret.BROWSER),
        ("~/Library/Cookies/Cookies.binarycookies", Secret.BROWSER),
        ("~/.foundry/keystores/main", Secret.WALLET),
        ("~/.near-credentials/mainnet", Secret.WALLET),
        ("~/.config/Bitwarden CLI/data.json", Secret.KEYCHAIN),
        ("~/.rediscli_history", Secret.HISTORY),
        ("~/.local/share/atuin/history.db", Secret.HISTORY),
        ("~/.m2/settings.xml", Secret.TOKENS),
        ("~/.pgpass", Secret.TOKENS),
        ("~/.kaggle/kaggle.json", Secret.TOKENS),
        ("~/.config/github-copilot/apps.json", Secret.AGENT),
        ("~/.local/share/opencode/auth.json", Secret.AGENT),
        ("~/.local/share/amp/secrets.json", Secret.AGENT),
        ("$HOME/.cursor/mcp.json", Secret.MEMORY),
        ("~/.codeium/windsurf/mcp_config.json", Secret.MEMORY),
        ("/Users/me/.codex/config.toml", Secret.MEMORY),
    ],
)
def test_the_path_of_a_secret_is_recognised(path: str, kind: Secret) -> None:
    assert secret_in(path) is kind


@all_cases(
    "path",
    [".cursor/mcp.json", "import boto3", "self.boto.x", "docs/settings.xml", "app/config.yaml"],
)
def test_a_file_of_a_project_is_no_secret(path: str) -> None:
    assert secret_in(path) is None
