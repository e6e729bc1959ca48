"""Commands that print a token or password stored by a program: `gh auth token`."""

import re

#: For each program, the arguments with which it prints a stored token or password.
_TOKEN_PRINTERS = {
    "aws": r"configure (?:export-credentials|get aws_secret)|sts get-session-token"
    r"|ecr get-login-password|secretsmanager get-secret-value"
    r"|ssm get-parameters? .*--with-decryption",
    "az": r"account get-access-token|keyvault secret (?:show|download)|acr login .*--expose-token",
    "bw": r"get (?:password|item|totp)|export", "doctl": r"auth token", "flyctl": r"auth token",
    "fly": r"auth token", "gcloud": r"auth (?:application-default )?print-\w+-token"
    r"|secrets versions access", "gh": r"auth (?:token|status .*(?:-t|--show-token))",
    "git": r"credential(?:-\w+)? (?:fill|get)",
    "gpg": r".*--export-secret-(?:sub)?keys?", "gpg2": r".*--export-secret-(?:sub)?keys?",
    "glab": r"auth status .*(?:-t|--show-token)", "heroku": r"auth:token",
    "keepassxc-cli": r"(?:show|export)", "kubectl": r"get secrets?\b|config view .*--raw",
    "lpass": r"(?:show|export)", "oc": r"whoami (?:-t|--show-token)",
    "op": r"(?:read|item get|document get)\b", "pass": r"(?:show\b|[\w/-]+$)",
    "secret-tool": r"(?:lookup|search)", "vault": r"(?:kv get|read|print token)\b",
}  # fmt: skip


def prints_token(name: str, args: list[str]) -> bool:
    """Return whether a command prints a token or password that the program stores."""
    pattern = _TOKEN_PRINTERS.get(name)
    return pattern is not None and re.match(pattern, " ".join(args)[:400]) is not None
