"""Commands that destroy shared resources: databases, clusters, buckets, repositories.

Tools for operators do this legitimately, so the fact counts only if the description does not
mention it.
"""

import re

#: For each program, the arguments with which it destroys without asking.
_DESTROYS = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "aws": r"s3 rb .*--force|s3 rm s3://[^/\s]+/? .*--recursive|ec2 terminate-instances"
        r"|rds delete-db-\w+ .*--skip-final-snapshot|dynamodb delete-table"
        r"|cloudformation delete-stack|iam delete-(?:user|role|group)\b|kms schedule-key-deletion",
        "az": r"(?:group|storage account|sql db|aks) delete .*(?:--yes|-y)\b",
        "cdk": r"destroy .*--force",
        "docker": r"volume (?:rm|prune)|system prune .*--volumes",
        "dropdb": r".*\$",
        "firebase": r"firestore:delete .*--(?:all-collections|force)",
        "gcloud": r"(?:projects|sql instances|container clusters|storage buckets) delete .*"
        r"(?:--quiet|-q)\b",
        "gh": r"repo delete .*--(?:yes|confirm)",
        "git": r"reflog expire .*--expire(?:-unreachable)?=(?:now|all)\b|filter-branch\b"
        r"|push (?=.*--force\b).*--(?:mirror|all)\b|update-ref -d\b",
        "gsutil": r"(?:-m )?(?:rb|rm -r) .*gs://[^/\s]+/?$",
        "heroku": r"(?:apps:destroy|pg:reset) .*--confirm",
        "kubectl": r"delete (?:ns|namespaces?|all|pvc?|deploy\w*|statefulsets?|secrets?)\b"
        r".*--all\b",
        "mongosh": r".*dropDatabase\(",
        "mysql": r".*\bdrop (?:database|schema|table)\b",
        "npm": r"unpublish .*--force",
        "psql": r".*\b(?:drop (?:database|schema|owned)|truncate)\b",
        "pulumi": r"(?:destroy|stack rm) .*(?:--yes|-y|--force)\b",
        "redis-cli": r".*\bflush(?:all|db)\b",
        "sqlite3": r".*\bdrop table\b",
        "terraform": r"(?:-chdir=\S+ )?(?:destroy|apply .*-destroy)\b.*-auto-approve",
        "terragrunt": r"(?:run-all )?destroy\b.*(?:-auto-approve|--non-interactive)",
        "tofu": r"(?:-chdir=\S+ )?destroy\b.*-auto-approve",
        "zfs": r"destroy -r",
    }.items()
}
_MAX_ARGUMENTS = 1_000
#: The names of the programs, which are examined wherever they are run.
DESTROYERS = frozenset(_DESTROYS)


def destroys(name: str, args: list[str]) -> bool:
    """Return whether a command destroys data or shared resources without asking."""
    pattern = _DESTROYS.get(name)
    return pattern is not None and pattern.match(" ".join(args)[:_MAX_ARGUMENTS]) is not None
