"""A verified registry of agent skills. A module imports only from the folders below its own.

cli        commands for operators and users
web        pages and the JSON API      client    our own client: registries, tokens, requests
cron       scheduled jobs              queue     worker, and the pipeline of a submission
catalogue  search index                events    email and webhooks
intake     submitting skills           publish   versions, moderation, policy, rescans
access     users, sessions, namespaces
fetch      git repos and archives      scan      what a skill does, and whether that is bad
stores     records and their keys      runtime   settings and engine of the running process
engines    databases: records, queue   model     data structures and rules, no I/O
base       building blocks that know nothing about skills
"""

__version__ = "0.1.0"
