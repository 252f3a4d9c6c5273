"""Certificates made by openssl: such that sign themselves, and those of an authority."""

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


class Authority:
    """A small authority whose files are in `folder`; `cert` is what others have to trust."""

    def __init__(self, folder: Path, name: str = "authority") -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self.cert, self._key = folder / f"{name}.pem", folder / f"{name}.key"
        self._openssl("req", "-x509", *self._new_key(self._key, name), "-out", str(self.cert))

    def issue(self, name: str, subject: str, days: int = 2) -> tuple[Path, Path]:
        """(certificate, key) for `subject`, such as `IP:127.0.0.1`; negative `days`: it ended so
        many days ago."""
        cert, key = self._folder / f"{name}.pem", self._folder / f"{name}.key"
        asked, said = self._folder / f"{name}.csr", self._folder / f"{name}.ext"
        said.write_text(f"subjectAltName={subject}\n")
        self._openssl("req", *self._new_key(key, name), "-out", str(asked))
        signer = ["-CA", str(self.cert), "-CAkey", str(self._key), "-CAcreateserial"]
        what = ["-in", str(asked), "-extfile", str(said), "-days", str(days), "-out", str(cert)]
        self._openssl("x509", "-req", *signer, *what)
        return cert, key

    @staticmethod
    def _new_key(file: Path, name: str) -> list[str]:
        kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        return [*kind, "-keyout", str(file), "-subj", f"/CN={name}"]

    @staticmethod
    def _openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], check=True, capture_output=True, timeout=60)
