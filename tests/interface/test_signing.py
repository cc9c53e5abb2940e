"""Ed25519 signatures with keys in files."""

import subprocess

import pytest

pytest.importorskip("cryptography")

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
)

from maseval.core.exceptions import ConfigurationError
from maseval.interface.signing import is_signed, signature

FORMS = {
    "PEM": (Encoding.PEM, PrivateFormat.PKCS8, Encoding.PEM, PublicFormat.SubjectPublicKeyInfo),
    "OpenSSH": (Encoding.PEM, PrivateFormat.OpenSSH, Encoding.OpenSSH, PublicFormat.OpenSSH),
}


def pair(folder, form="PEM", name="key"):
    key = Ed25519PrivateKey.generate()
    private, kind, public, public_kind = FORMS[form]
    (folder / name).write_bytes(key.private_bytes(private, kind, NoEncryption()))
    (folder / f"{name}.pub").write_bytes(key.public_key().public_bytes(public, public_kind))
    return folder / name, folder / f"{name}.pub"


@pytest.mark.parametrize("form", FORMS)
def test_what_is_signed_with_a_key_is_verified_with_its_other_half(tmp_path, form):
    private, public = pair(tmp_path, form)
    _, stranger = pair(tmp_path, form, "other")

    signed = signature("44 of 50 passed", private)

    assert is_signed("44 of 50 passed", signed, public)
    assert not is_signed("45 of 50 passed", signed, public)
    assert not is_signed("44 of 50 passed", signed, stranger)
    assert not is_signed("44 of 50 passed", "no base64!", public)


def test_what_is_no_ed25519_key_is_refused_with_the_way_to_make_one(tmp_path):
    private, public = pair(tmp_path)
    other = tmp_path / "other"
    other.write_bytes(
        X25519PrivateKey.generate().private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )

    for wrong in (public, other):
        with pytest.raises(ConfigurationError, match="ssh-keygen -t ed25519"):
            signature("text", wrong)
    with pytest.raises(ConfigurationError, match="public key"):
        is_signed("text", "", private)


def test_the_recommended_command_makes_a_pair(tmp_path):
    try:
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", tmp_path / "KEY"], check=True
        )
    except FileNotFoundError:
        pytest.skip("ssh-keygen is not installed")

    assert is_signed("text", signature("text", tmp_path / "KEY"), tmp_path / "KEY.pub")
