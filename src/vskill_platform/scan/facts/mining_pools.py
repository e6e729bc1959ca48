"""Addresses of mining pools, as a pattern."""

MINING_POOL = (
    r"stratum\d?\+\w{2,4}://|(?:supportxmr|hashvault|nanopool|minexmr|moneroocean|2miners"
    r"|c3pool|herominers|"
    r"ethermine|f2pool|nicehash|unmineable|xmrpool|monerohash)\.\w{2,6}"
)
