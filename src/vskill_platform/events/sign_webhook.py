"""Sign a webhook as Standard Webhooks specifies: HMAC-SHA256 of id, time and body."""

import base64
import hmac
import secrets
from datetime import datetime
from hashlib import sha256

from vskill_platform.stores.webhook_store import WebhookEndpoint

_PREFIX = "whsec_"
_SECRET_BYTES = 32


def new_webhook_secret() -> str:
    return _PREFIX + base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()


def sign_webhook(
    endpoint: WebhookEndpoint, message_id: str, body: bytes, *, now: datetime
) -> dict[str, str]:
    """Return the headers with the signatures, one for each secret: a rotation adds a second one."""
    timestamp = str(int(now.timestamp()))
    content = f"{message_id}.{timestamp}.".encode() + body
    keys = [endpoint.secret]
    if endpoint.old_secret and endpoint.old_secret_until and now < endpoint.old_secret_until:
        keys.append(endpoint.old_secret)
    return {
        "webhook-id": message_id,
        "webhook-timestamp": timestamp,
        "webhook-signature": " ".join(f"v1,{_sign(key, content)}" for key in keys),
    }


def _sign(secret: str, content: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return base64.b64encode(hmac.new(key, content, sha256).digest()).decode()
