"""Ed25519 signatures of texts, with keys in files (the ``cryptography`` package)."""

import base64
import binascii
from importlib import import_module
from pathlib import Path
from typing import Any

from maseval.core.exceptions import ConfigurationError
from maseval.interface.extras import load


def signature(text: str, private_key: Path) -> str:
    """Sign a text with the private key in a PEM or OpenSSH file; return it in base64."""
    key = _key(private_key, ("load_pem_private_key", "load_ssh_private_key"), "private")
    return base64.b64encode(key.sign(text.encode())).decode()


def is_signed(text: str, signed: str, public_key: Path) -> bool:
    """Return True if the owner of the public key in a PEM or OpenSSH file signed a text."""
    key = _key(public_key, ("load_pem_public_key", "load_ssh_public_key"), "public")
    invalid = _cryptography("exceptions").InvalidSignature
    try:
        key.verify(base64.b64decode(signed), text.encode())
    except (invalid, binascii.Error):
        return False
    return True


def _key(path: Path, loaders: tuple[str, str], kind: str) -> Any:
    library = _cryptography("hazmat.primitives.serialization")
    asymmetric = _cryptography("hazmat.primitives.asymmetric.ed25519")
    wanted = getattr(asymmetric, f"Ed25519{kind.capitalize()}Key")
    unsupported = _cryptography("exceptions").UnsupportedAlgorithm
    content = path.read_bytes()
    for name in loaders:
        more = (None,) if kind == "private" else ()
        try:
            key = getattr(library, name)(content, *more)
        except (ValueError, TypeError, unsupported):  # a file of another form
            continue
        if isinstance(key, wanted):
            return key
    raise ConfigurationError(
        f"{path} holds no Ed25519 {kind} key without a passphrase; make a pair with "
        "`ssh-keygen -t ed25519 -N '' -f KEY`, sign with KEY and verify with KEY.pub"
    )


def _cryptography(part: str) -> Any:
    load("cryptography", extra="sign")
    return import_module(f"cryptography.{part}")
