"""The first sentence of each command's help, so that `--help` loads no command.

A test compares it with the commands.
"""

_HERE = "vskill_platform.cli"
_ADMIN = f"{_HERE}.admin"
SHORT_HELP = {
    f"{_HERE}.publish:publish": "Scan a skill, upload it and follow it until it is published.",
    f"{_HERE}.scan.scan:scan": "Scan skills for security problems.",
    f"{_HERE}.user_commands:submit": "Submit a skill, or all skills of a repo.",
    f"{_HERE}.user_commands:status": "Show a submission, its history and findings.",
    f"{_HERE}.user_commands:submissions": "List submissions, newest first.",
    f"{_HERE}.user_commands:retry": "Retry a finished submission.",
    f"{_HERE}.user_commands:withdraw": "Withdraw a submission; it can be submitted again.",
    f"{_HERE}.user_commands:yank": "Yank a version.",
    f"{_HERE}.user_commands:unyank": "Make a yanked version available again.",
    f"{_HERE}.user_commands:visibility": "Make a skill public, or private to its namespace.",
    f"{_HERE}.user_commands:deprecate": "Deprecate a skill or a version.",
    f"{_HERE}.user_commands:undeprecate": "End the deprecation of a skill or a version.",
    f"{_HERE}.user_commands:delete": "Delete a skill, a version or a namespace.",
    f"{_HERE}.user_commands:rename": "Rename a skill within its namespace.",
    f"{_HERE}.user_commands:transfer": "Transfer a skill to a namespace, or a namespace to a user.",
    f"{_HERE}.user_commands:transfers": "List, accept or end transfers.",
    f"{_HERE}.user_commands:follow": "Submit new commits and version tags of a repo automatically.",
    f"{_HERE}.members:members": "Manage who sees the private skills of your namespaces.",
    f"{_HERE}.trusted_publishers:trusted_publishers": (
        "Let the CI of a repository publish without a stored token."
    ),
    f"{_HERE}.trusted_publishers:ci_token": "Print a token for this CI job, valid for 15 minutes.",
    f"{_HERE}.user_commands:discover": "List the skills in a source.",
    f"{_HERE}.scan.judge:judge": "Ask the judge about a skill in a folder.",
    f"{_HERE}.user_commands:search": "Search for published skills.",
    f"{_HERE}.user_commands:versions": "List the versions of a skill.",
    f"{_HERE}.user_commands:diff": "Show the changes between two versions.",
    f"{_HERE}.install.info:info": "Show a skill: publisher, versions, verdict and capabilities.",
    f"{_HERE}.install.install:install": "Install skills into the folders of your agents.",
    f"{_HERE}.install.install:update": "Update installed skills within their ranges.",
    f"{_HERE}.install.installed:outdated": "List installed skills that have newer versions.",
    f"{_HERE}.install.installed:list_installed": "List the installed skills.",
    f"{_HERE}.install.installed:verify": "Check installed skills for changes and blocks.",
    f"{_HERE}.install.install:remove": "Remove installed skills.",
    f"{_HERE}.login:login": "Sign in to a registry and make it the default.",
    f"{_HERE}.login:logout": "Revoke the token of a registry and delete it from this machine.",
    f"{_HERE}.login:whoami": "Show the registry in use and who you are signed in as.",
    f"{_HERE}.login:registries": "List your registries, choose the default, or remove one.",
    f"{_HERE}.delete_account:delete_account": "Delete your account on a registry.",
    f"{_HERE}.moderation_commands:reviews": "List and decide on submissions that need review.",
    f"{_HERE}.moderation_commands:block": "Add, remove, list or check blocks.",
    f"{_HERE}.node.serve:serve": "Run the platform: web pages, worker and cron.",
    f"{_ADMIN}.group:admin": "Operate the registry on this machine.",
    f"{_HERE}.webhooks:webhooks": "Send events of a registry to other programs.",
    f"{_ADMIN}.webhooks:webhooks": "Manage webhooks and see their deliveries.",
    f"{_ADMIN}.trusted_publishers:trusted_publishers": (
        "Let the CI of a repository publish without a stored token."
    ),
    f"{_HERE}.reports:reports": "Report skills to the reviewers, or answer such reports.",
    f"{_HERE}.appeals:appeals": "Appeal verdicts about your skills, or decide appeals.",
    f"{_ADMIN}.users:users": "Invite users, set their roles, disable or enable them.",
    f"{_ADMIN}.check:check": "Check settings, database, disk, git, email and sign-on.",
    f"{_ADMIN}.mail:mail": (
        "Test the email settings, list queued and failed emails, and retry them."
    ),
    f"{_ADMIN}.tokens:tokens": "Create, list and revoke API tokens.",
    f"{_ADMIN}.namespaces:namespaces": "Manage owners and members of namespaces.",
    f"{_ADMIN}.audit:audit": "List the actions of operators and reviewers, newest first.",
    f"{_ADMIN}.queue:queue": "Show the queue, waiting reviews and problems.",
    f"{_ADMIN}.queue:pause": "Pause the queue for a while.",
    f"{_ADMIN}.queue:resume": "End a pause.",
    f"{_ADMIN}.queue:stuck": "List stuck submissions; `admin tick` requeues them.",
    f"{_HERE}.local.retry_commands:requeue": "Requeue stuck submissions with a fresh retry budget.",
    f"{_ADMIN}.dead_letters:dead_letters": "List, requeue or drop failed messages (dead letters).",
    f"{_HERE}.node.work:work": "Process the queue until stopped with Ctrl-C.",
    f"{_HERE}.node.work:tick": "Run the due cron jobs once.",
    f"{_ADMIN}.featured:featured": "List or change the featured skills of the home page.",
    f"{_ADMIN}.policy:policy": "Check, try, save and restore policies.",
    f"{_ADMIN}.rescan:rescan": "Rescan all published skills.",
    f"{_ADMIN}.scanners:scanners": "List third-party scanners.",
    f"{_ADMIN}.similar:similar": "List similar published skills.",
    f"{_ADMIN}.mirrors:mirrors": "Mirror other registries.",
    f"{_ADMIN}.copy:copy": (
        "Copy a registry to another database, such as from SQLite to PostgreSQL."
    ),
    f"{_ADMIN}.backup:backup": "Copy the database to FILE and verify the copy.",
    f"{_ADMIN}.backup:restore": "Replace the database with the backup in FILE.",
    f"{_ADMIN}.prune:prune": "Remove records that are past their retention.",
    f"{_ADMIN}.vacuum:vacuum": "Return the space of deleted records to the disk.",
    f"{_ADMIN}.config:config": "Show every setting, its value and where it came from.",
}
