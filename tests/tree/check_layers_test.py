"""scripts/check_layers.py finds what it is there to find."""
import contextlib
import io
import tempfile
import unittest
import unittest.mock
from pathlib import Path

import check_layers


class CheckLayersTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name in (
            "base/result.hpp",
            "base/task/task.hpp",
            "core/call/call.hpp",
            "core/ledger/ledger.hpp",
            "net/tls/connection.hpp",
            "adapters/rtp/calls/wire.hpp",
            "cli/terminal.hpp",
        ):
            self.write(f"src/{name}", "#pragma once\n")

    def write(self, name: str, text: str) -> None:
        """A file, and for code of src/ the target that its folder needs."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        lists = path.parent / "CMakeLists.txt"
        if name.startswith("src/") and not lists.exists():
            target = check_layers.target_of(path.parent.relative_to(self.root / "src").as_posix())
            lists.write_text(f"crab_module({target.removeprefix('crab_')})\n")

    def said_of(self, name: str, text: str) -> str:
        self.write(name, text)
        said = io.StringIO()
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(io.StringIO()):
            status = check_layers.main([str(self.root)])
        self.assertEqual(status, 1 if said.getvalue() else 0)
        return said.getvalue()

    def test_includes_that_point_down_pass(self) -> None:
        self.assertEqual(
            self.said_of(
                "src/adapters/clawseed/front.cpp",
                '#include "core/call/call.hpp"\n#include <string>\n',
            ),
            "",
        )

    def test_an_include_that_points_up_is_named_with_its_line(self) -> None:
        self.assertIn(
            "src/core/call/a.cpp:2: core/call includes net/tls/connection.hpp",
            self.said_of(
                "src/core/call/a.cpp",
                '#include "base/result.hpp"\n#include "net/tls/connection.hpp"\n',
            ),
        )

    def test_folders_of_one_room_have_rows_of_their_own(self) -> None:
        self.assertIn(
            "core/call includes core/ledger/ledger.hpp",
            self.said_of("src/core/call/a.cpp", '#include "core/ledger/ledger.hpp"\n'),
        )
        self.assertIn(
            "base includes base/task/task.hpp",
            self.said_of("src/base/a.hpp", '#pragma once\n#include "base/task/task.hpp"\n'),
        )

    def test_tests_see_the_whole_room(self) -> None:
        self.assertEqual(
            self.said_of("src/core/call/a_test.cpp", '#include "core/ledger/ledger.hpp"\n'), ""
        )

    def test_the_gateway_and_the_command_line_do_not_know_each_other(self) -> None:
        self.assertIn(
            "gateway includes cli/terminal.hpp",
            self.said_of("src/gateway/a.cpp", '#include "cli/terminal.hpp"\n'),
        )
        self.write("src/gateway/a.cpp", "")
        self.write("src/gateway/b.hpp", "#pragma once\n")
        self.assertIn(
            "cli includes gateway/b.hpp",
            self.said_of("src/cli/a.cpp", '#include "gateway/b.hpp"\n'),
        )

    def test_a_ring_of_folders_is_found_even_where_the_rows_allow_it(self) -> None:
        rows = {"base": {"crypto"}, "crypto": {"base"}}
        with unittest.mock.patch.dict(check_layers.LAYERS, rows):
            self.write("src/crypto/digest.hpp", "#pragma once\n")
            self.write(
                "src/crypto/digest.cpp",
                '#include "crypto/digest.hpp"\n\n#include "base/result.hpp"\n',
            )
            self.assertIn(
                "each other: base -> crypto -> base",
                self.said_of("src/base/a.cpp", '#include "crypto/digest.hpp"\n'),
            )

    def test_the_rows_themselves_have_no_ring(self) -> None:
        folders = {row for row in check_layers.LAYERS if not row.endswith("*")} | {
            "store/sqlite",
        }
        edges = {}
        for folder in folders:
            row = check_layers.LAYERS[check_layers.layer_of(folder + "/")[1]]
            edges[folder] = {
                below for below in folders if below != folder and check_layers.permits(row, below)
            }
        self.assertEqual(check_layers.find_ring(edges), [])

    def test_a_target_links_only_what_its_folder_may_include(self) -> None:
        self.write("src/core/call/CMakeLists.txt", "crab_module(core_call LINKS crab_net_tls)\n")
        self.assertIn(
            "links crab_net_tls, but core/call may not include net/tls",
            self.said_of("src/core/call/a.cpp", ""),
        )

    def test_a_folder_without_a_target_is_named(self) -> None:
        self.write("src/core/call/CMakeLists.txt", "")
        self.assertIn("no crab_module(core_call ...)", self.said_of("src/core/call/a.cpp", ""))

    def test_adapters_do_not_include_each_other(self) -> None:
        self.assertIn(
            "adapters/clawseed includes adapters/rtp/calls/wire.hpp",
            self.said_of("src/adapters/clawseed/a.cpp", '#include "adapters/rtp/calls/wire.hpp"\n'),
        )

    def test_a_library_stays_out_of_headers(self) -> None:
        self.assertIn(
            "<sqlite3.h> belongs into .cpp files",
            self.said_of("src/store/sqlite/a.hpp", "#pragma once\n#include <sqlite3.h>\n"),
        )

    def test_a_library_stays_in_its_folders(self) -> None:
        self.assertIn(
            "<sqlite3.h> is for store/*",
            self.said_of("src/core/call/a.cpp", "#include <sqlite3.h>\n"),
        )

    def test_the_pure_folders_touch_no_file(self) -> None:
        for folder in ("core/ledger", "json", "json/schema", "trust", "base"):
            for text in (
                "#include <fstream>",
                "#include <filesystem>",
                "#include <fcntl.h>",
                "#include <sys/stat.h>",
                "std::filesystem::path here;",
                "std::ifstream in(name);",
                'auto* f = std::fopen("x", "r");',
                "int file = ::open(name, 0);",
                'int file = open("x", 0);',
                "int file = open(name.c_str(), 0);",
                "namespace fs = std::filesystem;",
                "std::wofstream out;",
                "std::basic_ofstream<char> out;",
                "std::filebuf buffer;",
                'std::freopen("x", "r", stdin);',
                "std::FILE* f = std::tmpfile();",
                'std::remove("x");',
                'std::rename("x", "y");',
                '::unlink("x");',
                "::read(3, buffer, 1);",
                '::stat("x", &facts);',
                '::mkdir("x", 0);',
                "::syscall(2, name, 0);",
                'auto url = "http://x"; std::ifstream in(name);',
                "/* a */ std::ifstream in(name);",
                "#import <fstream>",
                "int file = open(p, O_RDONLY);",
                'remove("x");',
                'rename("x", "y");',
                "using std::fopen;",
                "std :: ifstream in(name);",
                "using namespace std; ifstream in(name);",
                "namespace s = std; s::ofstream out;",
                "::fsync(3);",
                '::chmod("x", 0);',
                "auto* g = &fopen;",
                "auto* g = &::open;",
                "auto* g = &std::fopen;",
                'auto* f = fdopen(3, "r");',
                "#include <fmt/os.h>",
                'auto out = fmt::output_file("x");',
                '::readlink("x", buffer, 1);',
                'auto text = simdjson::padded_string::load("x");',
                'int f = ::memfd_create("x", 0);',
                'void* lib = ::dlopen("x", 0);',
            ):
                with self.subTest(folder=folder, text=text):
                    self.assertIn(
                        f"{folder} touches no file",
                        self.said_of(f"src/{folder}/a.cpp", text + "\n"),
                    )
                    self.write(f"src/{folder}/a.cpp", "")

    def test_the_pure_folders_do_not_name_asio(self) -> None:
        for folder in ("core/pipeline", "json", "trust/pairing", "base"):
            for text in (
                "#include <boost/asio.hpp>",
                "#include <boost/asio/post.hpp>",
                "asio::post(home, work);",
                "boost::asio::io_context context;",
                "namespace net = boost::asio;",
                "using namespace boost::asio;",
            ):
                with self.subTest(folder=folder, text=text):
                    self.assertIn(
                        f"{folder} knows nothing of Asio",
                        self.said_of(f"src/{folder}/a.cpp", text + "\n"),
                    )
                    self.write(f"src/{folder}/a.cpp", "")

    def test_what_opens_no_socket_does_not_by_any_spelling(self) -> None:
        for folder in (
            "core/call",
            "base/task",
            "base/process",
            "config",
            "hosts/memory",
            "store/sqlite",
        ):
            for text in (
                "#include <sys/socket.h>",
                "#include <netinet/in.h>",
                "#include <sys/epoll.h>",
                "#include <boost/asio.hpp>",
                "#include <boost/asio/ip/tcp.hpp>",
                "asio::ip::tcp::socket s(home);",
                "int s = ::socket(1, 1, 0);",
                "int s = socket(1, 1, 0);",
                "int s = 1 + socket(1, 1, 0);",
                "auto* g = &::connect;",
                "auto* g = &listen;",
                "if (::connect(s, address, size) < 0) {}",
                "::sendto(s, text, 1, 0, to, size);",
                "::getaddrinfo(host, port, 0, &all);",
                "#include <arpa/inet.h>",
                "sockaddr_storage address{};",
                "const int kind = SOCK_STREAM;",
            ):
                with self.subTest(folder=folder, text=text):
                    self.assertIn(
                        f"{folder} opens no socket",
                        self.said_of(f"src/{folder}/a.cpp", text + "\n"),
                    )
                    self.write(f"src/{folder}/a.cpp", "")

    def test_an_atomic_shared_pointer_is_refused_everywhere(self) -> None:
        for text in ("std::atomic<std::shared_ptr<const int>> it;", "atomic<weak_ptr<int>> it;"):
            with self.subTest(text=text):
                said = self.said_of("src/cli/a.cpp", text + "\n")
                self.assertIn("cli replaces what is shared by base/published.hpp", said)

    def test_the_pure_folders_have_no_name_of_a_socket_call(self) -> None:
        for folder in ("core/call", "json", "base", "trust"):
            for text in ("connect(fd, a, b);", "bind(fd, a, b);", "listen(fd, 5);"):
                with self.subTest(folder=folder, text=text):
                    said = self.said_of(f"src/{folder}/a.cpp", text + "\n")
                    self.assertIn(f"{folder} opens no socket", said)
                    self.write(f"src/{folder}/a.cpp", "")

    def test_the_pure_folders_start_no_process_and_wait_on_no_descriptor(self) -> None:
        for text in (
            "::fork();",
            "fork();",
            "auto* g = &fork;",
            "::poll(&all, 1, 0);",
            "::epoll_create1(0);",
            "::pipe2(ends, 0);",
            'auto* out = popen("x", "r");',
            'std::system("x");',
        ):
            with self.subTest(text=text):
                said = self.said_of("src/core/call/a.cpp", text + "\n")
                self.assertIn("core/call starts and awaits nothing by itself", said)

    def test_an_include_that_hides_its_header_is_refused(self) -> None:
        for text in (
            "#include /* x */ <fstream>",
            "#include_next <fstream>",
            "#include \\\n<fstream>",
            "#include HEADER",
        ):
            with self.subTest(text=text):
                said = self.said_of("src/core/call/a.cpp", text + "\n")
                self.assertIn("an include names its header", said)

    def test_the_pure_folders_include_listed_headers_only(self) -> None:
        for header in ("unistd.h", "poll.h", "sys/eventfd.h", "stdio.h", "iostream", "sstream"):
            with self.subTest(header=header):
                said = self.said_of("src/core/call/a.cpp", f"#include <{header}>\n")
                self.assertIn("core/call may not include it", said)

    def test_a_library_that_nobody_decided_on_is_refused(self) -> None:
        for header in ("asio.hpp", "asio/post.hpp", "curl/curl.h", "uv.h", "boost/filesystem.hpp"):
            with self.subTest(header=header):
                said = self.said_of("src/net/tls/a.cpp", f"#include <{header}>\n")
                self.assertIn(f"<{header}> is of no library in LIBRARIES", said)

    def test_of_fmt_only_what_formats_is_included(self) -> None:
        for header in ("fmt/os.h", "fmt/std.h", "fmt/color.h"):
            with self.subTest(header=header):
                said = self.said_of("src/cli/a.cpp", f"#include <{header}>\n")
                self.assertIn(f"<{header}> is not of the headers that format", said)

    def test_code_is_in_files_that_are_looked_at(self) -> None:
        for suffix in (".h", ".ipp", ".cc", ".inl"):
            with self.subTest(suffix=suffix):
                said = self.said_of(f"src/core/call/a{suffix}", "#include <fstream>\n")
                self.assertIn(f"a{suffix}: code is in .hpp and .cpp files", said)
                (self.root / f"src/core/call/a{suffix}").unlink()

    def test_names_of_c_functions_are_free_for_ours(self) -> None:
        code = "void write(int);\nvoid f(Sink& to) { write(1); return to.send(2); }\n"
        self.assertEqual(self.said_of("src/core/call/a.cpp", code), "")

    def test_what_comments_say_is_no_code(self) -> None:
        self.assertEqual(
            self.said_of(
                "src/core/call/a.cpp", "int a;  // not asio::post, and no std::filesystem\n"
            ),
            "",
        )

    def test_the_own_header_comes_first(self) -> None:
        self.assertIn(
            '"core/call/call.hpp" comes first',
            self.said_of(
                "src/core/call/call.cpp",
                '#include "base/result.hpp"\n#include "core/call/call.hpp"\n',
            ),
        )

    def test_a_folder_nobody_decided_on_is_refused(self) -> None:
        self.assertIn("not in the table", self.said_of("src/utils/a.cpp", ""))
        self.assertIn("not in the table", self.said_of("src/core/more/a.cpp", ""))

    def test_public_headers_need_nothing_of_ours(self) -> None:
        self.assertIn(
            "public headers need nothing",
            self.said_of("include/crab/a.hpp", '#include "base/result.hpp"\n'),
        )

    def test_examples_do_not_look_into_src(self) -> None:
        self.assertIn(
            "is in src/", self.said_of("examples/a/main.cpp", '#include "core/call/call.hpp"\n')
        )


if __name__ == "__main__":
    unittest.main()
