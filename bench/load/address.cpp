#include "load/address.hpp"

#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>
#include <system_error>

namespace crab::bench {

std::string Address::authority() const {
    return path.empty() ? host + ":" + std::to_string(port) : "localhost";
}

Address parse_address(const std::string& text) {
    if (text.starts_with("unix:") && text.size() > 5) return {.host = {}, .path = text.substr(5)};
    const auto colon = text.rfind(':');
    if (!text.starts_with("tcp:") || colon <= 4)
        throw std::invalid_argument("address is tcp:HOST:PORT or unix:PATH, not " + text);
    return {.host = text.substr(4, colon - 4),
            .port = static_cast<std::uint16_t>(std::stoul(text.substr(colon + 1))),
            .path = {}};
}

int connect_to(const Address& address, int source) {
    const bool local = !address.path.empty();
    const int fd = socket(local ? AF_UNIX : AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) throw std::system_error(errno, std::generic_category(), "socket");
    int failed = 0;
    if (local) {
        sockaddr_un to{.sun_family = AF_UNIX, .sun_path = {}};
        address.path.copy(to.sun_path, sizeof to.sun_path - 1);
        failed = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
    } else {
        const int on = 1;
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (source != 0) {
            setsockopt(fd, IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &on, sizeof on);
            sockaddr_in from{.sin_family = AF_INET,
                             .sin_port = 0,
                             .sin_addr = {htonl(0x7f000000u + static_cast<unsigned>(source))},
                             .sin_zero = {}};
            failed = bind(fd, reinterpret_cast<sockaddr*>(&from), sizeof from);
        }
        sockaddr_in to{.sin_family = AF_INET,
                       .sin_port = htons(address.port),
                       .sin_addr = {inet_addr(address.host.c_str())},
                       .sin_zero = {}};
        if (failed == 0) failed = connect(fd, reinterpret_cast<sockaddr*>(&to), sizeof to);
    }
    if (failed != 0) {
        const int reason = errno;
        ::close(fd);
        throw std::system_error(reason, std::generic_category(),
                                "connect to " + (local ? address.path : address.authority()));
    }
    return fd;
}

void allow_descriptors(std::size_t wanted) {
    rlimit limit{};
    getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit all{.rlim_cur = std::max<rlim_t>(wanted, limit.rlim_max),
                     .rlim_max = std::max<rlim_t>(wanted, limit.rlim_max)};
    if (setrlimit(RLIMIT_NOFILE, &all) == 0) return;
    const rlimit most{.rlim_cur = limit.rlim_max, .rlim_max = limit.rlim_max};
    setrlimit(RLIMIT_NOFILE, &most);
    if (limit.rlim_max < wanted) {
        throw std::runtime_error("needs " + std::to_string(wanted) + " descriptors, the limit is " +
                                 std::to_string(limit.rlim_max) + ": raise `ulimit -Hn`");
    }
}

}  // namespace crab::bench
