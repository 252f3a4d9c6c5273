#include "load/modes.hpp"

#include "load/address.hpp"
#include "load/http_backend.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <stdexcept>
#include <system_error>

namespace crab::bench {
namespace {

int listen_on(const Address& address) {
    if (address.path.empty()) throw std::invalid_argument("--listen takes unix:PATH");
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un at{.sun_family = AF_UNIX, .sun_path = {}};
    address.path.copy(at.sun_path, sizeof at.sun_path - 1);
    if (fd < 0 || bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0 ||
        listen(fd, 1024) != 0) {
        throw std::system_error(errno, std::generic_category(), "listen on " + address.path);
    }
    return fd;
}

}  // namespace

void run_host(Options options) {
    const Address address = parse_address(options.text("listen"));
    options.refuse_others();
    Loop loop;
    const HttpBackend host(loop, listen_on(address));
    std::puts("host ready");
    std::fflush(stdout);
    while (true) loop.turn(Clock::now() + std::chrono::hours(1));
}

}  // namespace crab::bench
