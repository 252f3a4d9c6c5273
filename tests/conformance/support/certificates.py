"""Certificates that sign themselves, made by openssl."""

from __future__ import annotations

import subprocess
from pathlib import Path


def self_signed(
    folder: Path, name: str = "localhost", address: str = "127.0.0.1"
) -> tuple[Path, Path]:
    """(certificate, key) as PEM files in `folder`, for the IP address `address`, good for two
    days."""
    cert, key = folder / f"{name}.pem", folder / f"{name}.key"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-nodes",
            "-subj",
            f"/CN={name}",
            "-addext",
            f"subjectAltName=IP:{address}",
            "-days",
            "2",
            "-keyout",
            str(key),
            "-out",
            str(cert),
        ],
        check=True,
        capture_output=True,
        timeout=60,
    )
    return cert, key
