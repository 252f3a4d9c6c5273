"""A state folder as a release leaves it, with something in its stores. Made once for each release,
by the program of that release, and opened by every later one (test_state.py):

CRAB_BIN=... python3 -m support.released_state fixtures/state_0.1.0.tar.gz
"""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

from .gateway import Gateway, program

CONFIG = {"built_in_hosts": {"memory": True, "cron": True}}
NOTE, CALLER, JOB = "the kettle is blue", "tester", "tea-time"


def fill(gateway: Gateway) -> None:
    for tool, args in (
        ("memory.append", {"entries": [{"text": NOTE}]}),
        ("cron.create", {"name": JOB, "schedule": "0 16 * * *", "input": {"drink": "tea"}}),
    ):
        reply = gateway.call(tool, args, call_id=tool, idempotency_key=tool)
        if reply.status != "ok":
            raise RuntimeError(f"{tool}: {reply.body}")


def main() -> None:
    out = Path(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder, Gateway(CONFIG) as gateway:
        fill(gateway)
        copy = Path(folder) / "copy"
        subprocess.run(
            [program(), "backup", str(copy), "--config", str(gateway.config_file)],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w") as archive:
            # Only stores: keys are made again where there are none.
            for file in sorted(copy.rglob("*.db")):
                head = tarfile.TarInfo(str(file.relative_to(copy)))
                content = file.read_bytes()
                head.size, head.mode = len(content), 0o600
                archive.addfile(head, io.BytesIO(content))
        out.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


if __name__ == "__main__":
    main()
