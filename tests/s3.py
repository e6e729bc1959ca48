"""An S3-compatible server for the tests, and an empty bucket of it for each of them."""

import atexit
import itertools
import os
import socket
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from urllib.request import Request, urlopen

from tests.missing import skip_without
from vskill_platform.blob_settings import BlobOptions
from vskill_platform.secret_settings import Secret

_numbers = itertools.count(1)
#: Never shown: tests look for it in messages.
SECRET = "tests-only-secret"


def an_empty_bucket() -> BlobOptions:
    endpoint = _endpoint()
    bucket = f"test-{os.getpid()}-{next(_numbers)}"
    urlopen(Request(f"{endpoint}/{bucket}", method="PUT")).close()  # noqa: S310 - ours
    return bucket_at(endpoint, bucket)


def bucket_at(endpoint: str, bucket: str = "bucket") -> BlobOptions:
    return BlobOptions(
        url=f"s3://{bucket}/registry?endpoint={endpoint}",
        key_id="tests",
        key=Secret(SECRET),
    )


@cache
def _endpoint() -> str:
    for module in ("moto", "flask_cors", "obstore"):
        if find_spec(module) is None:
            skip_without(module, untested="blobs in S3", get_it="`make test`")
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    # The server takes over the socket, so that a request that comes early waits for it.
    server = subprocess.Popen(
        [sys.executable, "-c", _SERVE.format(fd=listener.fileno())],
        pass_fds=[listener.fileno()],
        stdin=subprocess.PIPE,  # closed with this process, however it ends
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    listener.close()
    atexit.register(server.kill)
    return f"http://127.0.0.1:{port}"


_SERVE = """
import os, sys, threading
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import make_server
app = DomainDispatcherApplication(create_backend_app)
make_server("127.0.0.1", 0, app, threaded=True, fd={fd}).serve_forever()
"""
