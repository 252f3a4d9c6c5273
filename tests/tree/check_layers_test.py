"""scripts/check_layers.py finds what it is there to find."""
import contextlib
import io
import tempfile
import unittest
from pathlib import Path

import check_layers


class CheckLayersTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in ("base/result.hpp", "core/call.hpp", "net/connection.hpp", "adapters/rtp/wire.hpp"):
            self.write(f"src/{name}", "#pragma once\n")

    def write(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def said_of(self, name: str, text: str) -> str:
        self.write(name, text)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            status = check_layers.main([str(self.root)])
        self.assertEqual(status, 1 if said.getvalue() else 0)
        return said.getvalue()

    def test_includes_that_point_down_pass(self) -> None:
        self.assertEqual(self.said_of("src/adapters/clawseed/front.cpp", '#include "core/call.hpp"\n#include <string>\n'), "")

    def test_an_include_that_points_up_is_named_with_its_line(self) -> None:
        self.assertIn("src/core/a.cpp:2: core includes net/connection.hpp", self.said_of("src/core/a.cpp", '#include "base/result.hpp"\n#include "net/connection.hpp"\n'))

    def test_adapters_do_not_include_each_other(self) -> None:
        self.assertIn("adapters/clawseed includes adapters/rtp/wire.hpp", self.said_of("src/adapters/clawseed/a.cpp", '#include "adapters/rtp/wire.hpp"\n'))

    def test_a_library_stays_out_of_headers(self) -> None:
        self.assertIn("<sqlite3.h> belongs into .cpp files", self.said_of("src/store/sqlite/a.hpp", "#pragma once\n#include <sqlite3.h>\n"))

    def test_a_library_stays_in_its_folders(self) -> None:
        self.assertIn("<sqlite3.h> is for store/*", self.said_of("src/core/a.cpp", "#include <sqlite3.h>\n"))

    def test_the_core_opens_no_socket(self) -> None:
        self.assertIn("core opens no socket", self.said_of("src/core/a.cpp", "#include <boost/asio/ip/tcp.hpp>\n"))

    def test_the_own_header_comes_first(self) -> None:
        self.assertIn('"core/call.hpp" comes first', self.said_of("src/core/call.cpp", '#include "base/result.hpp"\n#include "core/call.hpp"\n'))

    def test_a_folder_nobody_decided_on_is_refused(self) -> None:
        self.assertIn("not in the table", self.said_of("src/utils/a.cpp", ""))

    def test_public_headers_need_nothing_of_ours(self) -> None:
        self.assertIn("public headers need nothing", self.said_of("include/crab/a.hpp", '#include "base/result.hpp"\n'))

    def test_examples_do_not_look_into_src(self) -> None:
        self.assertIn("is in src/", self.said_of("examples/a/main.cpp", '#include "core/call.hpp"\n'))


if __name__ == "__main__":
    unittest.main()
