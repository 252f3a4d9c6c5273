#pragma once

#include "base/process/child.hpp"
#include "base/process/pipe.hpp"
#include "base/result.hpp"

#include <filesystem>
#include <memory>
#include <string_view>

#include <sys/types.h>

namespace crab::command {

/// The content of /etc/resolv.conf for slirp4netns's name server.
constexpr std::string_view kSlirpResolver = "nameserver 10.0.2.3\n";

/// Outbound-only network of one sandbox: slirp4netns, a user-mode network stack, attached to its
/// network namespace. The host's loopback is not reachable. Ends with this object and with this
/// process. Used on one thread. Source: docs/protocols/sw4rm.md, section 10, `EGRESS_UNRESTRICTED`;
/// slirp4netns(1).
class SlirpNetwork {
public:
    /// Starts it for the namespace of `process`. Errors: kUnavailable.
    static Result<std::unique_ptr<SlirpNetwork>> start(const std::filesystem::path& program,
                                                       pid_t process);
    SlirpNetwork(const SlirpNetwork&) = delete;
    SlirpNetwork& operator=(const SlirpNetwork&) = delete;

    /// Becomes readable when the network is up or has failed; is_up() returns which and closes it.
    /// -1 afterwards.
    int ready() const { return ready_.read_end.get(); }
    bool is_up();

private:
    SlirpNetwork() = default;

    Pipe ready_, alive_;  ///< it ends when our end of `alive_` closes
    Child program_;
};

}  // namespace crab::command
