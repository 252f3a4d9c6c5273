#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace crab::command {

/// The proxy's port on the loopback of the sandbox's own network namespace.
constexpr std::uint16_t kProxyPort = 3128;

/// The call of a command, for log and audit.
struct EgressUser {
    std::string call_id, trace_id, principal, provider, tool;
};

/// Receives the proxy socket of one sandbox. Process 1 in the sandbox sends a listening socket of
/// its namespace through `inside`; its connections are served during the lifetime of this object.
/// Used on the command's thread.
class EgressSocket {
public:
    EgressSocket() = default;
    EgressSocket(const EgressSocket&) = delete;
    EgressSocket& operator=(const EgressSocket&) = delete;
    virtual ~EgressSocket() = default;

    /// The descriptor for process 1, to be inherited and then closed here.
    virtual int inside() const = 0;
    virtual void close_inside() = 0;
    /// Becomes readable when take() is due; -1 afterwards.
    virtual int outside() const = 0;
    /// Receives the listening socket and starts to serve it.
    virtual void take() = 0;
};

/// The network access of one provider's commands under EGRESS_RESTRICTED. Thread-safe. Source:
/// docs/protocols/sw4rm.md, section 10, "Proxy".
class Egress {
public:
    virtual ~Egress() = default;
    /// Errors: kUnavailable.
    virtual Result<std::unique_ptr<EgressSocket>> open_socket(EgressUser user) = 0;
};

}  // namespace crab::command
