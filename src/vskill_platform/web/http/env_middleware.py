"""The web's doorway: every request runs with the worker env in reach."""

from functools import partial

from litestar.types import ASGIApp, Receive, Scope, Send

from vskill_platform.runtime.env import WorkerEnv
from vskill_platform.runtime.worker_context import run_with_worker_env


class EnvMiddleware:
    def __init__(self, app: ASGIApp, env: WorkerEnv) -> None:
        self._app = app
        self._env = env

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await run_with_worker_env(self._env, partial(self._app, scope, receive, send))
