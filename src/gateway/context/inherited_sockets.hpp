#pragma once

#include "base/result.hpp"
#include "net/loop/endpoint.hpp"
#include "net/loop/listener.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::gateway {

/// Listening sockets that the service manager has made and keeps (sd_listen_fds(3)); empty without
/// one. Used on one thread at a time.
class InheritedSockets {
public:
    InheritedSockets() = default;
    /// Those that were passed to this process; removes the variables that tell of them, so that no
    /// child takes them for its own. Before there are threads. Errors: kInvalidArgs, kForbidden,
    /// with the name of the socket.
    static Result<InheritedSockets> take();

    /// The listener for an endpoint: the one that was passed with this address, or a new one. A
    /// port of 0 fits any. `name` is public, admin, grpc, grpc_unix or peers. Errors: those of
    /// net::Listener::bind(), kInvalidArgs when a socket of that name has another address.
    Result<std::unique_ptr<net::Listener>> listen(std::string_view name,
                                                  const net::Endpoint& endpoint);
    /// Closes what nobody has asked for. Returns their names and addresses.
    std::vector<std::string> close_rest();

private:
    struct Passed {
        std::string name;  ///< FileDescriptorName=, or that of the unit
        std::unique_ptr<net::Listener> listener;
    };
    std::vector<Passed> passed_;
};

}  // namespace crab::gateway
