"""Receivers of webhooks and models at addresses: permitted addresses, permitted IP addresses, and signatures
of messages.

Anybody who may create a webhook could otherwise make this server request its neighbours: databases, routers,
and the metadata service of cloud machines, which returns keys. So an address is checked as a text when it is
entered, and at every attempt its name is resolved and each IP address checked; the connection uses a checked
IP address, never the name (`sending`), so that changing DNS meanwhile has no effect. Origins that the
operator named (`trusted`) may be anywhere, also without TLS.

Sources: IANA's registries of special-purpose addresses for IPv4 and IPv6 (RFC 6890 and later).

Signatures are those of Standard Webhooks (standardwebhooks.com, specification 1.0.0). The signed text is
`ID.TIME.BODY`: the message's id, seconds since 1970, the body byte for byte. The signature is HMAC-SHA256 in
base64, after `v1,`. The secret is `whsec_` and 32 bytes in base64, which are the key.
"""

import base64
import hashlib
import hmac
import ipaddress
import re
import socket
from collections.abc import Collection
from typing import NamedTuple
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

LONGEST_ADDRESS = 500
#: Names of this machine or this network, whatever they resolve to.
_LOCAL_NAMES = ("localhost", "local", "internal", "intranet", "lan", "home.arpa")
_HOST = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")
_VISIBLE = re.compile(r"[!-~]+")
#: IPv4 addresses that are no servers on the internet.
_SPECIAL_V4 = [
    ipaddress.IPv4Network(network)
    for network in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by providers; metadata of some clouds
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; metadata of most clouds
        "168.63.129.16/32",  # services for Azure's machines
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocol assignments; metadata of some clouds
        "192.0.2.0/24",  # documentation
        "192.88.99.0/24",  # relays of 6to4
        "192.168.0.0/16",  # private
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, broadcast
    )
]
#: The only IPv6 addresses of servers on the internet; loopback, link-local, private, multicast and mapped
#: IPv4 are outside.
_GLOBAL_V6 = ipaddress.IPv6Network("2000::/3")
_SPECIAL_V6 = [
    ipaddress.IPv6Network(network)
    for network in (
        "2001::/23",  # protocol assignments, Teredo among them
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4: it contains an IPv4 address
        "3fff::/20",  # documentation
    )
]
#: IPv4 behind a translator of one's own network (RFC 6052); the last 32 bits are the IPv4 address.
_TRANSLATED = ipaddress.IPv6Network("64:ff9b::/96")


class AddressError(ValueError):
    """A forbidden address; one line with the reason."""


class Receiver(NamedTuple):
    """The parts of an address; `host` is a name or an IP address, `target` path and query. `trusted`: the
    operator named its origin."""

    host: str
    port: int
    target: str
    tls: bool = True
    trusted: bool = False

    @property
    def authority(self) -> str:
        """The value of the header `Host`."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == (443 if self.tls else 80) else f"{host}:{self.port}"


def address_origin(address: str) -> str:
    """Return scheme, host and port of an address."""
    return "/".join(address.split("/", 3)[:3]).lower()


def receiver_of(address: str, *, trusted: Collection[str] = ()) -> Receiver:
    """Return the parts of an address. Raises AddressError.

    It must be https, of visible ASCII, without user and fragment. A numeric host, in any spelling, is checked
    here, too; names are resolved when something is sent. An address of a `trusted` origin may be http, and of
    any network.
    """
    if not 0 < len(address) <= LONGEST_ADDRESS or not _VISIBLE.fullmatch(address) or "\\" in address:
        raise AddressError(
            _("Give an address of at most %(most)d characters, without spaces.") % {"most": LONGEST_ADDRESS}
        )
    try:
        parts = urlsplit(address)
        port = parts.port
    except ValueError:
        raise AddressError(_("This is not an address; expected https://HOST/PATH.")) from None
    allowed = address_origin(address) in trusted
    if parts.scheme not in ("https", *(("http",) if allowed else ())) or not parts.hostname or port == 0:
        raise AddressError(_("The address must begin with https://HOST."))
    if "@" in parts.netloc or parts.fragment or "#" in address:
        raise AddressError(_("The address must hold neither a user nor a fragment (@, #)."))
    host = parts.hostname.rstrip(".")
    if not _HOST.fullmatch(host) and ("%" in host or not _is_v6(host)):
        raise AddressError(_("The host of the address is neither a name nor a number."))
    local = any(host == name or host.endswith(f".{name}") for name in _LOCAL_NAMES)
    if local and not allowed and not _loopback_allowed():
        raise AddressError(_("The address is of this machine or a private network."))
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    tls = parts.scheme == "https"
    receiver = Receiver(host, port or (443 if tls else 80), target, tls, allowed)
    for number in _numbers(receiver, numeric=True):
        _check(receiver, number)
    return receiver


def public_numbers_of(receiver: Receiver) -> list[str]:
    """Return the current IP addresses of a receiver's host, all of them public unless it is trusted. Raises
    AddressError.

    If one of several is not public, the whole name is rejected as an attempted attack.
    """
    numbers = _numbers(receiver, numeric=False)
    if not numbers:
        raise AddressError(_("The name of the host is not known."))
    for number in numbers:
        _check(receiver, number)
    return numbers


def is_public(number: str) -> bool:
    """Whether an IP address, as text, is that of a server on the internet."""
    try:
        address = ipaddress.ip_address(number)
    except ValueError:
        return False
    if isinstance(address, ipaddress.IPv4Address):
        return not any(address in network for network in _SPECIAL_V4)
    if address.scope_id is not None:
        return False
    if address in _TRANSLATED:
        return is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
    return address in _GLOBAL_V6 and not any(address in network for network in _SPECIAL_V6)


def _numbers(receiver: Receiver, *, numeric: bool) -> list[str]:
    """Return the IP addresses of a host in the resolver's order; if `numeric`, only of a numeric host.

    The resolver reads numbers like everything that connects: 2130706433, 0177.1 and 0x7f.1 are 127.0.0.1.
    """
    flags = socket.AI_NUMERICHOST if numeric else 0
    try:
        addresses = socket.getaddrinfo(
            receiver.host, receiver.port, type=socket.SOCK_STREAM, proto=socket.IPPROTO_TCP, flags=flags
        )
    except (OSError, UnicodeError):
        return []
    return list(dict.fromkeys(str(address[0]) for *_kind, address in addresses))


def _check(receiver: Receiver, number: str) -> None:
    if receiver.trusted or is_public(number) or (_loopback_allowed() and _is_loopback(number)):
        return
    raise AddressError(
        _("The address leads to %(number)s, which is not on the internet.") % {"number": number}
    )


def _loopback_allowed() -> bool:
    return bool(settings.WEBHOOKS_TO_LOOPBACK)


def _is_loopback(number: str) -> bool:
    try:
        return ipaddress.ip_address(number).is_loopback
    except ValueError:
        return False


def _is_v6(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).version == 6
    except ValueError:
        return False


ID_HEADER = "webhook-id"
TIME_HEADER = "webhook-timestamp"
SIGNATURE_HEADER = "webhook-signature"
SECRET_PREFIX = "whsec_"
_SALT = "annotation.webhooks"


def secret_of(salt: str) -> str:
    """Return the secret of a webhook with this salt. It is computed from SECRET_KEY, so that neither the
    database nor a backup contains it."""
    key = salted_hmac(_SALT, salt, algorithm="sha256").digest()
    return SECRET_PREFIX + base64.b64encode(key).decode()


def webhook_signature(*, secret: str, message: str, at: int, body: bytes) -> str:
    """Return the signature of a body that is sent as `message` at `at` (seconds since 1970)."""
    key = base64.b64decode(secret.removeprefix(SECRET_PREFIX))
    signed = f"{message}.{at}.".encode() + body
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
