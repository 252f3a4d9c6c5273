#include "gateway/context/inherited_sockets.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>
#include <systemd/sd-daemon.h>

namespace crab::gateway {
namespace {

/// `wanted` may leave the port to the system.
bool fits(const net::Endpoint& wanted, const net::Endpoint& passed) {
    if (wanted.is_unix() || passed.is_unix()) return wanted.path == passed.path;
    if (wanted.port != 0 && wanted.port != passed.port) return false;
    const auto one = net::to_socket_address(net::Endpoint::tcp(wanted.host, passed.port));
    const auto other = net::to_socket_address(passed);
    return one && other && one->size == other->size &&
           std::memcmp(&one->storage, &other->storage, one->size) == 0;
}

}  // namespace

Result<InheritedSockets> InheritedSockets::take() {
    char** names = nullptr;
    const int count = ::sd_listen_fds_with_names(1, &names);
    if (count < 0)
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("LISTEN_FDS of the service manager: {}", std::strerror(-count)));
    InheritedSockets sockets;
    std::optional<Error> wrong;
    for (int i = 0; i < count; ++i) {
        const std::string name = names != nullptr && names[i] != nullptr ? names[i] : "unknown";
        auto listener = net::Listener::adopt(SD_LISTEN_FDS_START + i);
        if (listener) {
            sockets.passed_.push_back({.name = name, .listener = std::move(*listener)});
        } else if (!wrong) {
            wrong = std::move(listener.error());
            wrong->message =
                fmt::format("socket {} of the service manager: {}", name, wrong->message);
        }
        if (names != nullptr) std::free(names[i]);
    }
    std::free(names);
    if (wrong) return fail(std::move(*wrong));
    return sockets;
}

Result<std::unique_ptr<net::Listener>> InheritedSockets::listen(std::string_view name,
                                                                const net::Endpoint& endpoint) {
    const auto found = std::ranges::find_if(
        passed_, [&](const Passed& passed) { return fits(endpoint, passed.listener->endpoint()); });
    if (found != passed_.end()) {
        std::unique_ptr<net::Listener> listener = std::move(found->listener);
        passed_.erase(found);
        return listener;
    }
    const auto named = std::ranges::find(passed_, name, &Passed::name);
    if (named != passed_.end())
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the service manager's socket `{}` is on {}, and the configuration "
                                "says {}",
                                name, named->listener->endpoint().text(), endpoint.text()));
    return net::Listener::bind(endpoint);
}

std::vector<std::string> InheritedSockets::close_rest() {
    std::vector<std::string> closed;
    for (const Passed& passed : std::exchange(passed_, {}))
        closed.push_back(fmt::format("{} on {}", passed.name, passed.listener->endpoint().text()));
    return closed;
}

}  // namespace crab::gateway
