#!/usr/bin/env python3
"""Check that includes point down only: the table of STYLE.md, "The tree", as a test (ctest:
layers).

usage: check_layers.py [ROOT]
  ROOT   the checkout to look at (default: the one this script is in)

Rules:
  - a folder of src/ has a row in LAYERS; it includes itself and the folders of that row, by paths
  from src/;
  - folders do not include each other in a ring;
  - a folder is a CMake target of its own, which links what its row lets it include: it sees no
  other headers;
  - some libraries are seen by few folders, and most of those in .cpp files only (LIBRARIES);
  - core, json, trust, and base outside task/ and process/ include the headers of std that are
  listed (PURE_HEADERS) and libraries of LIBRARIES, touch no file and do not name Asio (PURE);
  - they, and those of NO_SOCKETS, open no socket;
  - every other header is one of std, of the system or of a library in LIBRARIES; code is in .hpp
  and .cpp files, where these rules are looked for;
  - include/crab needs nothing but std and itself; examples/ see include/crab only, bench/ only
  itself;
  - a header starts with #pragma once; a .cpp file with a header of its name includes that first.
Prints one line per violation, exit status 1 if there is any.
"""
import re
import sys
from dataclasses import dataclass
from pathlib import Path

from check_functions import without_text

# Folder -> what it may include beside itself. `x/*` stands for every folder in x/. Bottom up; a
# room is a folder whose folders share one test executable, and whose tests may include all of it.
TASKS = {"base", "base/task"}
VALUES = {"base", "json"}
SCHEMAS = VALUES | {"json/schema"}
CORE = {"core/*"}
NET = {"net/*"}
# what a store's engine sees: all that is stored
STORES = (
    TASKS
    | VALUES
    | CORE
    | {
        "store",
        "store/memory",
        "console",
        "push",
        "trust",
        "trust/pairing",
        "hosts/memory",
        "hosts/cron",
        "crypto",
    }
)
# what the components of a gateway are made of
GATEWAY = (
    TASKS
    | SCHEMAS
    | NET
    | CORE
    | {
        "setup",
        "hosting",
        "runtime",
        "admin",
        "admin/live",
        "agent",
        "adapters/*",
        "adapters/rtp/*",
        "adapters/mcp/*",
        "hosts/memory",
        "hosts/cron",
        "hosts/command",
        "console",
        "console/relay",
        "console/door",
        "bus",
        "bus/nats",
        "fleet",
        "push",
        "push/sending",
        "store",
        "store/*",
        "sdk/tool_host",
        "trust",
        "trust/pairing",
        "config",
        "crypto",
        "base/process",
    }
)
RULED = GATEWAY | {"gateway/context", "gateway/telemetry", "gateway/stored", "gateway/rules"}
LAYERS = {
    "base": set(),
    "base/task": {"base"},
    "base/process": {"base"},
    "json": {"base"},
    "json/schema": VALUES,
    "crypto": {"base", "base/process"},
    "net/codec": {"base"},
    "net/loop": TASKS,
    "net/tls": TASKS | {"net/loop", "base/process"},
    "net/websocket": TASKS | {"net/tls", "net/codec"},
    "net/http": TASKS | {"net/websocket", "net/tls", "net/loop", "net/codec"},
    "net/http2": TASKS | {"net/tls", "net/loop", "net/codec"},
    "net/grpc": TASKS | {"net/http2", "net/http", "net/codec"},
    "bus": {"base", "crypto"},
    "bus/local": {"base", "bus"},
    "bus/nats": TASKS | {"bus", "crypto", "net/loop", "net/tls"},
    "core/call": TASKS | SCHEMAS | {"crypto"},
    "core/policy": VALUES | {"core/call"},
    "core/registry": TASKS | {"core/policy", "core/call"},
    "core/approvals": TASKS | VALUES | {"core/call"},
    "core/audit": TASKS | SCHEMAS | {"core/approvals", "core/policy", "core/call"},
    "core/live": VALUES | {"core/audit", "core/call"},
    "core/ledger": TASKS | {"core/call"},
    "core/events": TASKS | {"core/call"},
    "core/chat": TASKS | {"core/call"},
    "core/pipeline": TASKS
    | SCHEMAS
    | {
        "core/registry",
        "core/policy",
        "core/approvals",
        "core/audit",
        "core/ledger",
        "core/events",
        "core/call",
    },
    "trust/pairing": VALUES | {"crypto"},
    "trust": TASKS | VALUES | CORE | {"trust/pairing", "crypto"},
    "console": {"base", "core/call", "crypto"},
    "push": VALUES | {"crypto"},
    "push/sending": TASKS | VALUES | NET | {"push", "crypto"},
    "console/relay": TASKS | VALUES | NET | {"console", "core/call", "crypto"},
    "console/bridge": TASKS | VALUES | NET | {"console", "console/relay", "core/call", "crypto"},
    "console/door": TASKS
    | VALUES
    | NET
    | {"console", "console/relay", "core/call", "trust", "crypto"},
    "adapters/cetp": SCHEMAS | {"crypto"},
    "adapters/clawseed": TASKS | VALUES | NET | CORE | {"trust", "crypto"},
    "adapters/sw4rm": TASKS | VALUES | NET | CORE | {"trust", "crypto"},
    "adapters/rtp/wire": VALUES | {"core/call"},
    "adapters/rtp/calls": TASKS | VALUES | NET | CORE | {"trust", "crypto"},
    "adapters/rtp/pairing": TASKS
    | VALUES
    | NET
    | {"core/call", "trust", "trust/pairing", "crypto"},
    "adapters/rtp/hosts": TASKS
    | VALUES
    | NET
    | CORE
    | {
        "adapters/rtp/wire",
        "adapters/rtp/calls",
        "adapters/rtp/pairing",
        "trust",
        "trust/pairing",
    },
    "adapters/rtp/events": TASKS
    | SCHEMAS
    | NET
    | CORE
    | {"adapters/rtp/calls", "adapters/rtp/pairing", "adapters/rtp/hosts", "trust", "crypto"},
    "adapters/mcp/wire": VALUES | {"net/codec", "crypto"},
    "adapters/mcp/client": TASKS
    | VALUES
    | NET
    | {"adapters/mcp/wire", "base/process", "core/call", "crypto"},
    "adapters/mcp/upstreams": TASKS
    | SCHEMAS
    | NET
    | CORE
    | {"adapters/mcp/wire", "adapters/mcp/client", "trust", "base/process", "crypto"},
    "adapters/mcp/tasks": TASKS
    | VALUES
    | {"adapters/mcp/wire", "core/call", "core/ledger", "crypto"},
    "adapters/mcp/server": TASKS
    | SCHEMAS
    | NET
    | CORE
    | {"adapters/mcp/wire", "adapters/mcp/tasks", "crypto"},
    "adapters/mcp/auth": TASKS
    | VALUES
    | NET
    | {"adapters/mcp/wire", "adapters/mcp/client", "core/call", "trust", "crypto"},
    "hosts/memory": TASKS | SCHEMAS | {"core/call"},
    "hosts/cron": TASKS | SCHEMAS | {"core/call"},
    "hosts/command/init": set(),
    "hosts/command": TASKS | VALUES | {"hosts/command/init", "base/process", "core/call"},
    "hosts/command/egress": TASKS | VALUES | NET | {"hosts/command", "core/audit"},
    "agent": TASKS | VALUES | NET | CORE | {"crypto"},
    "fleet": TASKS
    | VALUES
    | {"bus", "core/call", "core/ledger", "core/policy", "core/registry", "core/pipeline"},
    "store": TASKS | VALUES | CORE | {"crypto"},
    "store/*": STORES,
    "store/postgres": STORES | {"bus", "fleet"},
    "config": SCHEMAS | {"net/codec"},
    "setup": SCHEMAS | {"base/process", "config", "core/policy", "crypto", "net/tls"},
    "admin": TASKS
    | VALUES
    | NET
    | CORE
    | {"agent", "trust", "hosts/command", "crypto", "push", "push/sending"},
    "admin/live": TASKS | VALUES | NET | CORE | {"admin", "trust"},
    # what a gateway and a tool host are made of
    "runtime": TASKS | VALUES | NET | CORE | {"adapters/rtp/calls", "store/sqlite", "base/process"},
    "sdk": TASKS
    | VALUES
    | NET
    | {"base/process", "adapters/sw4rm", "adapters/rtp/wire", "core/call", "crypto"},
    "sdk/machine": VALUES | {"base/process", "sdk"},  # what include/crab declares is in sdk
    "sdk/provider": SCHEMAS | {"adapters/cetp"},
    "sdk/tool_host": TASKS
    | VALUES
    | NET
    | CORE
    | {
        "base/process",
        "sdk",
        "runtime",
        "adapters/rtp/calls",
        "adapters/rtp/pairing",
        "trust",
        "trust/pairing",
        "crypto",
    },
    "hosting": TASKS
    | VALUES
    | NET
    | CORE
    | {
        "sdk/tool_host",
        "hosts/*",
        "hosts/command/egress",
        "adapters/rtp/events",
        "store/sqlite",
        "config",
        "base/process",
    },
    "gateway/context": TASKS | NET | CORE | {"adapters/sw4rm", "runtime", "config"},
    "gateway/telemetry": GATEWAY | {"gateway/context"},
    "gateway/stored": GATEWAY | {"gateway/context"},
    "gateway/rules": GATEWAY | {"gateway/context", "gateway/stored"},
    "gateway/agents": RULED,
    "gateway/hosts": GATEWAY | {"gateway/context", "gateway/stored"},
    "gateway/mcp": RULED,
    "gateway/fleet": RULED,
    "gateway/devices": RULED | {"gateway/agents"},
    "gateway/listeners": RULED | {"gateway/hosts", "gateway/mcp", "gateway/devices"},
    "gateway/operator": RULED
    | {
        "gateway/agents",
        "gateway/hosts",
        "gateway/mcp",
        "gateway/devices",
        "gateway/listeners",
    },
    "gateway": GATEWAY | {"gateway/*"},
    "bridge/dbus": TASKS | VALUES | {"net/loop"},
    "bridge/built_in": TASKS
    | SCHEMAS
    | {"bridge/dbus", "adapters/cetp", "sdk/machine", "base/process"},
    "bridge": TASKS
    | VALUES
    | {
        "bridge/dbus",
        "bridge/built_in",
        "adapters/cetp",
        "sdk",
        "sdk/machine",
        "config",
        "net/loop",
        "base/process",
    },
    "cli/output": VALUES | {"config"},  # YAML is written there
    "cli": TASKS
    | SCHEMAS
    | NET  # and not the gateway: main() hands over what is started
    | {
        "cli/output",
        "core/policy",
        "setup",
        "hosting",
        "bridge",
        "console/bridge",
        "sdk",
        "sdk/machine",
        "store/sqlite",
        "core/audit",
        "adapters/rtp/pairing",
        "hosts/command",
        "trust",
        "trust/pairing",
        "config",
        "crypto",
        "base/process",
    },
    "apps/sandbox_init": {"hosts/command/init"},
    "apps/crab": {"cli", "cli/output", "gateway", "hosts/command/init"},
}
ROOMS = ("base", "json", "net", "core", "adapters/rtp", "adapters/mcp", "gateway")
# What tests take beside what their folder may, and beside the rest of each room that it looks into.
TESTS = {
    "adapters/rtp/*": {"core/*", "net/*"},
    "bridge": {"net/http"},
    "net/*": {"crypto"},
    "runtime": {"config"},
    "sdk/machine": {"json/schema"},
    "bus/nats": {"base/process"},
    "fleet": {"bus/local"},
    "store/*": {"base/process", "json/schema"},
    "store/suite": {"store/sqlite", "store/postgres"},
}

# First part of a header's path -> the folders that may name it, and whether their headers may too.
LIBRARIES = {
    "nghttp2": ({"net/http2"}, False),
    "google": ({"adapters/*"}, False),
    "openssl": ({"crypto", "net/tls", "net/codec", "cli"}, False),
    "sqlite3.h": ({"store/*"}, False),
    "libpq-fe.h": ({"store/postgres"}, False),
    "CLI": ({"cli"}, True),
    "spdlog": ({"base"}, False),
    "yaml-cpp": ({"config"}, False),
    "systemd": ({"sdk/provider", "bridge", "bridge/*", "gateway", "gateway/context"}, False),
    "zlib.h": ({"net/codec"}, False),
    "pcre2.h": ({"json/schema"}, False),
    "idn2.h": ({"json/schema"}, False),
    "unictype.h": ({"json/schema", "adapters/mcp/wire"}, False),
    "uninorm.h": ({"adapters/mcp/wire"}, False),
    "cctz": ({"hosts/cron"}, True),
    "seccomp.h": ({"hosts/*"}, False),
    "histedit.h": ({"cli/output"}, False),
    "qrencode.h": ({"net/codec"}, False),
    "re2": ({"json/schema", "core/policy"}, False),
    "simdjson.h": (
        VALUES
        | {
            "json/schema",
            "core/*",
            "net/codec",
            "adapters/*",
            "adapters/rtp/*",
            "adapters/mcp/*",
            "admin",
            "sdk",
            "sdk/*",
            "gateway",
            "bridge",
            "bridge/*",
            "cli",
        },
        True,
    ),
    "boost": ({"base/task", "net/loop", "config"}, True),
    "fmt": ({"*"}, True),
}
# Of fmt what formats; the rest prints and opens files.
FMT = {"fmt/format.h", "fmt/ranges.h"}
# What is neither std (a word without a dot), nor of the system, nor in LIBRARIES, is no header of
# ours.
SYSTEM = re.compile(
    r"(sys|netinet|arpa|net|linux)/\w+\.h|(dirent|fcntl|ifaddrs|malloc|netdb|poll|pthread|pwd"
    r"|emmintrin|signal|spawn|stdlib|time|unistd)\.h"
)
TEST_LIBRARIES = {"gtest", "gmock", "benchmark"}
# The headers of std that pure code may include: none of them has a file, a stream or a socket.
PURE_HEADERS = set(
    """algorithm any array atomic barrier bit bitset cassert cctype cerrno charconv chrono cinttypes
    climits cmath compare concepts condition_variable coroutine cstddef cstdint cstdio cstdlib
    cstring ctime deque exception expected functional future initializer_list iterator latch limits
    list locale map memory memory_resource mutex new numbers numeric optional queue random ranges
    ratio regex semaphore set shared_mutex source_location span stack stdexcept stdlib.h stop_token
    string string_view system_error thread tuple type_traits typeindex typeinfo unordered_map
    unordered_set utility variant vector version""".split()
)
# What single files of pure folders may include and call beside that: closing a descriptor, the
# processor's wide instructions, and the form of an address.
PURE_EXCEPTIONS = {
    "base/descriptor.cpp": {"unistd.h", "::write", "fsync"},
    "json/string_block.hpp": {"emmintrin.h"},
    "trust/pairing/endpoint.cpp": {"arpa/inet.h", "AF_INET", "AF_INET6"},
}
# What code may not do, by itself or by a header that has the name: touch files, or speak to others.
# Names of C's that nobody else has are refused as such, called or not: a pointer to fopen opens
# files as well. A name that ours have too is refused where `::` or a lone `&` stands before it.
# What this cannot see, the object files show (check_symbols.py).
ANY_NAME = r"(?<![\w.])(?<!->)(?:{})\b"
GLOBAL = r"(?<![\w:>])::\s*({})\b"
ADDRESS = r"(?:=|\breturn|[(,])\s*&\s*({})\s*[;),]"
FILE_NAMES = (
    "fopen|fdopen|freopen|fmemopen|fopencookie|tmpfile|tmpnam|mkstemps?|mkostemp|mkdtemp|opendir"
    "|fdopendir|readdir|scandir|nftw|openat2?|open64|creat|pread|pwrite|preadv|pwritev|readv|writev"
    "|readlink|readlinkat|unlink|unlinkat|renameat2?|mkdir|mkdirat|rmdir|lstat|fstat|fstatat|statx"
    "|symlink|symlinkat|linkat|ftruncate|truncate|mmap|chmod|fchmod|fchmodat|chown|fchown|fsync"
    "|fdatasync|syscall|memfd_create|shm_open|dlopen|dlmopen|dlsym|sendfile|splice"
    "|copy_file_range|realpath|faccessat|padded_string|padded_memory_map|output_file"
)
FILES = re.compile(
    r"<(fstream|filesystem|fcntl\.h|dirent\.h|sys/(file|stat|mman|statvfs|inotify)\.h|fmt/os\.h)>"
    r"|\bstd\s*::\s*(experimental::)?filesystem\b|\b(basic_|w)?([io]?fstream|filebuf)\b"
    r"|\bstd\s*::\s*rename\b"
    r"|\bstd\s*::\s*remove\s*\([^,()]*\)|\b(remove\s*\(\s+\)|rename\s*\(\s+,)"
    r"|\bO_(RDONLY|WRONLY|RDWR|CREAT)\b"
    r"|\bopen\s*\(\s*(\w+\.c_str\(\)\s*)?,|"
    + "|".join(
        (
            ANY_NAME.format(FILE_NAMES),
            GLOBAL.format("open|read|write|rename|remove|stat|link|access"),
            ADDRESS.format("read|write|rename|remove|stat|link"),
        )
    ),
    re.MULTILINE,
)
# `socket` is a good name for a variable, and SCMP_SYS(socket) forbids it to others.
SOCKET_NAMES = (
    "accept4|sendto|sendmsg|sendmmsg|recv|recvfrom|recvmsg|recvmmsg|getaddrinfo|gethostbyname"
    "|getnameinfo"
)
SOCKETS = re.compile(
    r"<(sys/(socket|epoll|un|uio)\.h|netdb\.h|netinet/\w+\.h|arpa/\w+\.h|net/if\.h"
    r"|ifaddrs\.h)>|\b(AF_[A-Z]\w*|SOCK_[A-Z]\w*|sockaddr\w*)\b|"
    + "|".join(
        (
            ANY_NAME.format(SOCKET_NAMES),
            r"(?<![\w.])(?<!->)socket(?:pair)?\s*\(",
            GLOBAL.format("socket|socketpair|bind|connect|listen|accept|send"),
            ADDRESS.format("socketpair|connect|listen|accept"),
        )
    ),
    re.MULTILINE,
)
# Where none of ours has such a name.
PURE_SOCKETS = re.compile(ANY_NAME.format("connect|bind|listen|accept"))
# Other processes, and waiting on descriptors.
SYSTEM_NAMES = (
    r"poll|ppoll|pselect|epoll_\w+|eventfd|timerfd_create|signalfd|inotify_\w+|pipe2?|v?fork"
    r"|exec[lv]\w*|kill|waitpid|waitid|wait[34]|posix_spawn\w*|popen"
)
SYSTEM_CALLS = re.compile(
    ANY_NAME.format(SYSTEM_NAMES)
    + r"|\b(std\s*::\s*)?system\s*\(|"
    + GLOBAL.format("system|select|clone|wait"),
    re.MULTILINE,
)
ASIO = re.compile(r"<boost/asio|\basio\b")
ASIO_SOCKETS = re.compile(
    r"<boost/asio(\.hpp|/(ip/(tcp|udp|resolver|basic_)|local/|posix/"
    r"|basic_\w*socket|read|write|connect))|\basio::(ip::(tcp|udp)|local::|posix::)"
)
# libstdc++ 12's load() of such a pointer unlocks without a release: a store() may follow it into
# the read, which is a data race.
RACY_POINTERS = re.compile(r"\batomic\s*<\s*(std\s*::\s*)?(shared|weak)_ptr\b")
PURE = {"base", "json", "json/schema", "core/*", "trust", "trust/pairing"}
NO_SOCKETS = PURE | {
    "base/task",
    "base/process",
    "config",
    "hosts/memory",
    "hosts/cron",
    "hosts/command",
    "store/*",
}
TEST = re.compile(r"(_test|_bench|_fuzz)\.cpp$|(^|/)test_\w+\.hpp$|fuzz_check\.hpp$")
CODE = {".hpp", ".cpp"}
OTHER_CODE = {
    ".h",
    ".hh",
    ".hxx",
    ".h++",
    ".ipp",
    ".ixx",
    ".inl",
    ".tpp",
    ".c",
    ".cc",
    ".cxx",
    ".cppm",
}
INCLUDE = re.compile(r'^\s*#\s*(?:include|import)\s*([<"])([^>"]+)[>"]')


ANY_INCLUDE = re.compile(r"^\s*#\s*(include|import)")


@dataclass
class Include:
    line: int
    quoted: bool
    path: str


def includes_of(file: Path) -> list[Include]:
    found = []
    for number, text in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if match := INCLUDE.match(text):
            found.append(Include(number, match[1] == '"', match[2]))
    return found


def layer_of(path: str) -> tuple[str, str] | None:
    """The folder that a path from src/ belongs to, and its row in LAYERS."""
    folder = path.rpartition("/")[0]
    for row in (folder, folder.rpartition("/")[0] + "/*"):
        if row in LAYERS:
            return folder, row
    return None


def permits(allowed: set[str], folder: str) -> bool:
    return bool(allowed & {"*", folder, folder.rpartition("/")[0] + "/*"})


def room_of(folder: str) -> str | None:
    return next((room for room in ROOMS if folder == room or folder.startswith(room + "/")), None)


def seen_by_tests(folder: str, row: str) -> set[str]:
    """What tests of the folder may include: what it may, and all of each room that it looks
    into."""
    seen = set(LAYERS[row])
    for key, more in TESTS.items():
        if permits({key}, folder):
            seen |= more
    rooms = {room_of(folder)} | {room_of(name.removesuffix("/*")) for name in seen}
    for room in rooms - {None}:
        seen |= {room, room + "/*"}
        for inside, below in LAYERS.items():
            if room_of(inside) == room:
                seen |= below
    return seen


def find_ring(edges: dict[str, set[str]]) -> list[str]:
    """Folders that include each other in a ring, or nothing."""
    done: set[str] = set()

    def walk(folder: str, path: list[str]) -> list[str]:
        if folder in path:
            return path[path.index(folder) :] + [folder]
        if folder in done:
            return []
        for below in sorted(edges.get(folder, ())):
            if ring := walk(below, path + [folder]):
                return ring
        done.add(folder)
        return []

    for folder in sorted(edges):
        if ring := walk(folder, []):
            return ring
    return []


def check_source(file: Path, src: Path, edges: dict[str, set[str]]) -> list[str]:
    """The file's violations; the folders that it includes are added to `edges`, unless it is a
    test."""
    name = file.relative_to(src).as_posix()
    here = layer_of(name)
    if here is None:
        return [f"{file}: the folder is not in the table of scripts/check_layers.py and STYLE.md"]
    folder, row = here
    is_test = bool(TEST.search(name))
    found = includes_of(file)
    allowed = seen_by_tests(folder, row) if is_test else LAYERS[row]
    problems = []

    def report(line: int, text: str) -> None:
        problems.append(f"{file}:{line}: {text}")

    for include in found:
        if include.quoted and include.path.startswith("crab/"):
            if folder.split("/")[0] not in ("sdk", "bridge", "cli"):
                report(
                    include.line,
                    f"{folder} includes {include.path}, which is for tool authors, sdk, bridge "
                    f"and cli",
                )
        elif include.quoted:
            there = layer_of(include.path)
            if there is None or not (src / include.path).exists():
                report(include.line, f'"{include.path}" is no path from src/')
                continue
            if there[0] != folder and not permits(allowed, there[0]):
                report(
                    include.line,
                    f"{folder} includes {include.path}; it may include "
                    f"{', '.join(sorted(allowed)) or 'nothing of ours'}",
                )
            if there[0] != folder and not is_test:
                edges.setdefault(folder, set()).add(there[0])
        elif says := check_library(include.path, folder, file.suffix, is_test):
            report(include.line, says)
    for line, code in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if ANY_INCLUDE.match(code) and not INCLUDE.match(code):
            report(line, 'an include names its header as <header> or "path", on one line')
    if not is_test:
        problems += check_purity(file, src, folder, found)
    if file.suffix == ".hpp" and "#pragma once" not in file.read_text(encoding="utf-8"):
        report(1, "no #pragma once")
    own = file.with_suffix(".hpp")
    if (
        file.suffix == ".cpp"
        and own.exists()
        and (not found or found[0].path != own.relative_to(src).as_posix())
    ):
        report(found[0].line if found else 1, f'"{own.relative_to(src).as_posix()}" comes first')
    return problems


def check_library(path: str, folder: str, suffix: str, is_test: bool) -> str:
    """What is wrong with an include of `<path>`, or nothing."""
    part = path.split("/")[0]
    if library := LIBRARIES.get(part):
        if part == "boost" and not path.startswith("boost/asio"):
            return f"<{path}> is of no library in LIBRARIES"
        if part == "fmt" and path not in FMT:
            return f"<{path}> is not of the headers that format (FMT)"
        if not is_test and not permits(library[0], folder):
            return f"<{path}> is for {', '.join(sorted(library[0]))}"
        if not is_test and suffix == ".hpp" and not library[1]:
            return f"<{path}> belongs into .cpp files"
    elif re.search(r"[./]", path) and not SYSTEM.fullmatch(path):
        if not is_test or part not in TEST_LIBRARIES:
            return f"<{path}> is of no library in LIBRARIES"
    return ""


def check_purity(file: Path, src: Path, folder: str, found: list[Include]) -> list[str]:
    """Whether code does what its folder may not, whichever header brought it the name."""
    rules, problems = [(RACY_POINTERS, "replaces what is shared by base/published.hpp")], []
    if permits(PURE, folder):
        rules += [(FILES, "touches no file"), (ASIO, "knows nothing of Asio")]
        rules += [
            (PURE_SOCKETS, "opens no socket"),
            (SYSTEM_CALLS, "starts and awaits nothing by itself"),
        ]
    if permits(NO_SOCKETS, folder):
        rules += [(SOCKETS, "opens no socket"), (ASIO_SOCKETS, "opens no socket")]
    excepted = PURE_EXCEPTIONS.get(file.relative_to(src).as_posix(), set())
    for include in (it for it in found if not it.quoted and it.path not in excepted):
        named = f"<{include.path}>"
        says = [says for rule, says in rules if (hit := rule.search(named)) and "<" in hit[0]]
        if not says and permits(PURE, folder) and include.path.split("/")[0] not in LIBRARIES:
            says = [] if include.path in PURE_HEADERS else ["may not include it (PURE_HEADERS)"]
        problems += [f"{file}:{include.line}: `{named}`: {folder} {it}" for it in says]
    code = without_text(file.read_text(encoding="utf-8"))
    for rule, says in rules:
        for match in (it for it in rule.finditer(code) if it[0] not in excepted):
            line = code.count("\n", 0, match.end()) + 1
            problems.append(f"{file}:{line}: `{match[0].strip()}`: {folder} {says}")
    return problems


def target_of(folder: str) -> str:
    """The CMake target of a folder: hosts/command/egress is crab_command_egress."""
    return "crab_" + re.sub(r"^(adapters|hosts)/", "", folder).replace("/", "_")


def check_targets(src: Path) -> list[str]:
    """Every folder of code is a target of its own, which links only what its row lets it
    include."""
    folders = sorted({path.parent.relative_to(src).as_posix() for path in sources(src)})
    folders = [name for name in folders if name.split("/")[0] != "apps" and layer_of(name + "/")]
    folder_of = {target_of(name): name for name in folders}
    problems = []
    for folder in folders:
        file = src / folder / "CMakeLists.txt"
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        module = re.search(r"crab_module\((\w+)([^)]*)\)", text)
        if not module or f"crab_{module[1]}" != target_of(folder):
            problems.append(
                f"{file}: no crab_module({target_of(folder).removeprefix('crab_')} ...)"
            )
            continue
        links = module[2].split("TEST_LINKS")[0].split()
        for link in (word for word in links if word in folder_of):
            if not permits(LAYERS[layer_of(folder + "/")[1]], folder_of[link]):
                problems.append(
                    f"{file}: links {link}, but {folder} may not include {folder_of[link]}"
                )
    return problems


def check_public(file: Path) -> list[str]:
    return [
        f"{file}:{i.line}: <{i.path}>: public headers need nothing but std and crab/"
        for i in includes_of(file)
        if (i.quoted and not i.path.startswith("crab/"))
        or (not i.quoted and not re.fullmatch(r"\w+", i.path))
    ]


def check_outside(file: Path, src: Path, own: Path) -> list[str]:
    """examples/ and bench/ do not look into src/."""
    return [
        f"{file}:{i.line}: {i.path} is in src/"
        for i in includes_of(file)
        if i.quoted
        and (src / i.path).exists()
        and not (own / i.path).exists()
        and not (file.parent / i.path).exists()
    ]


def sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.suffix in CODE)


def main(words: list[str]) -> int:
    if "-h" in words or "--help" in words:
        print(__doc__)
        return 0
    root = Path(words[0]) if words else Path(__file__).resolve().parent.parent
    src = root / "src"
    edges: dict[str, set[str]] = {}
    problems = [problem for file in sources(src) for problem in check_source(file, src, edges)]
    if ring := find_ring(edges):
        problems.append(f"{src}: folders include each other: {' -> '.join(ring)}")
    problems += check_targets(src)
    problems += [
        f"{path}: code is in .hpp and .cpp files"
        for path in sorted(src.rglob("*"))
        if path.suffix in OTHER_CODE
    ]
    problems += [problem for file in sources(root / "include") for problem in check_public(file)]
    for name in ("examples", "bench"):
        problems += [
            problem
            for file in sources(root / name)
            for problem in check_outside(file, src, root / name)
        ]
    for problem in problems:
        print(problem.removeprefix(f"{root}/"))
    print(f"{len(problems)} violations in {len(sources(src))} files", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
