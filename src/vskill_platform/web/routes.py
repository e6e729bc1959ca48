"""The route table, joined from its three parts.

A route is one line: method, path, right and handler. The table is the only source of routes: the
application, the guard, the OpenAPI document and the access tests are built from it, so a route
without a right cannot exist.

- `page_routes.py`: for browsers, probes and third-party scanners
- `api_routes.py`: for programs
- `protocol_routes.py`: for other clients, each in its own format
"""

from vskill_platform.web.api_routes import API
from vskill_platform.web.page_routes import PAGES
from vskill_platform.web.protocol_routes import PROTOCOLS

__all__ = ["API", "PAGES", "PROTOCOLS"]
