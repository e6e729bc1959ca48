"""Paths of secrets, by the kind of program that keeps them."""

from tests.cases import all_cases
from vskill_platform.scan.facts.sensitive_paths import SecretKind, secret_in


@all_cases(
    ("path", "kind"),
    [
        ("~/.config/doctl/config.yaml", SecretKind.CLOUD),
        ("~/.databrickscfg", SecretKind.CLOUD),
        ("~/.config/rclone/rclone.conf", SecretKind.CLOUD),
        ("~/.config/containers/auth.json", SecretKind.CLOUD),
        ("~/.mozilla/firefox/x.default", SecretKind.BROWSER),
        ("~/Library/Cookies/Cookies.binarycookies", SecretKind.BROWSER),
        ("~/.foundry/keystores/main", SecretKind.WALLET),
        ("~/.near-credentials/mainnet", SecretKind.WALLET),
        ("~/.config/Bitwarden CLI/data.json", SecretKind.KEYCHAIN),
        ("~/.rediscli_history", SecretKind.HISTORY),
        ("~/.local/share/atuin/history.db", SecretKind.HISTORY),
        ("~/.m2/settings.xml", SecretKind.TOKENS),
        ("~/.pgpass", SecretKind.TOKENS),
        ("~/.kaggle/kaggle.json", SecretKind.TOKENS),
        ("~/.config/github-copilot/apps.json", SecretKind.AGENT),
        ("~/.local/share/opencode/auth.json", SecretKind.AGENT),
        ("~/.local/share/amp/secrets.json", SecretKind.AGENT),
        ("$HOME/.cursor/mcp.json", SecretKind.MEMORY),
        ("~/.codeium/windsurf/mcp_config.json", SecretKind.MEMORY),
        ("/Users/me/.codex/config.toml", SecretKind.MEMORY),
    ],
)
def test_the_path_of_a_secret_is_recognised(path: str, kind: SecretKind) -> None:
    assert secret_in(path) is kind


@all_cases(
    "path",
    [".cursor/mcp.json", "import boto3", "self.boto.x", "docs/settings.xml", "app/config.yaml"],
)
def test_a_file_of_a_project_is_no_secret(path: str) -> None:
    assert secret_in(path) is None
