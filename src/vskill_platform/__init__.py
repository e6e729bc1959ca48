"""A verified registry of agent skills.

cli       the operator's and the user's hand
web       HTTP in and out
cron      what the clock starts          queue     worker, consumer, the walk
intake    the one way in                 publish   versions and archives
fetch     the outside world              scan      what a skill does, and whether that is bad
stores    records and their keys         runtime   the worker env
engines   bytes: key-value and queue     model     structs and rules, no I/O
"""

__version__ = "0.1.0"
