#pragma once

#include "base/result.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace crab::command {

/// Where a sandbox finds its proxy, on the loopback of its own network namespace, which nobody else
/// uses.
constexpr std::uint16_t kProxyPort = 3128;

/// Which call a command belongs to, for log and audit.
struct EgressUser {
    std::string call_id, trace_id, principal, provider, tool;
};

/// The proxy socket of one sandbox. Process 1 inside sends a listening socket of its namespace
/// through `inside`; whoever connects there is served until this object is gone. Used on the
/// command's thread.
class EgressDoor {
public:
    EgressDoor() = default;
    EgressDoor(const EgressDoor&) = delete;
    EgressDoor& operator=(const EgressDoor&) = delete;
    virtual ~EgressDoor() = default;

    /// The end for process 1, to be inherited and then closed here.
    virtual int inside() const = 0;
    virtual void close_inside() = 0;
    /// Becomes readable when take() has something to do; -1 afterwards.
    virtual int outside() const = 0;
    /// Takes the listening socket and begins to serve it.
    virtual void take() = 0;
};

/// What the commands of one provider reach under EGRESS_RESTRICTED. Thread-safe.
/// Source: docs/protocols/sw4rm.md, section 10, "Proxy".
class Egress {
public:
    virtual ~Egress() = default;
    /// Errors: kUnavailable.
    virtual Result<std::unique_ptr<EgressDoor>> open_door(EgressUser user) = 0;
};

}  // namespace crab::command
