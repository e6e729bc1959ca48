"""Every path of the web, in one table."""

from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Litestar
from litestar.datastructures import ResponseHeader
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router
from litestar.template.config import TemplateConfig

from vskill_platform.errors import EngineError
from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.web.env_middleware import EnvMiddleware
from vskill_platform.web.external_scans import external_scan_callback
from vskill_platform.web.health import healthz, readyz
from vskill_platform.web.outage import answer_outage
from vskill_platform.web.problems import STATUSES, answer_problem
from vskill_platform.web.skills_page import skills_page

_HERE = Path(__file__).parent
#: Nothing inline, nothing from other hosts, never inside of somebody else's page.
_CONTENT_SECURITY_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)


def create_app(env: WorkerEnv) -> Litestar:
    """Build the application; every request runs with *env* in reach."""
    return Litestar(
        route_handlers=[
            skills_page,
            healthz,
            readyz,
            external_scan_callback,
            create_static_files_router("/static", [_HERE / "static"]),
        ],
        middleware=[lambda app: EnvMiddleware(app, env)],
        exception_handlers={
            EngineError: answer_outage,
            **dict.fromkeys(STATUSES, answer_problem),
        },
        template_config=TemplateConfig(instance=_templates()),
        response_headers=[
            ResponseHeader(name="Content-Security-Policy", value=_CONTENT_SECURITY_POLICY),
            ResponseHeader(name="X-Content-Type-Options", value="nosniff"),
            ResponseHeader(name="Referrer-Policy", value="same-origin"),
        ],
        openapi_config=None,
        logging_config=None,
    )


def _templates() -> JinjaTemplateEngine:
    environment = Environment(
        loader=FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return JinjaTemplateEngine.from_environment(environment)
