#pragma once

#include "adapters/mcp/wire/message_reader.hpp"
#include "adapters/mcp/wire/revision.hpp"

#include <cstdint>
#include <optional>

/// What the answer to the probe, `server/discover` at 2026-07-28, says of an upstream: the table of
/// docs/protocols/mcp.md, section 2.8. Who probes has the clock, the child and the connection.
namespace crab::mcp {

/// What came back.
struct ProbeAnswer {
    enum class Kind : std::uint8_t {
        kMessage,  ///< a response of JSON-RPC
        kOther,  ///< HTTP: any other body
        kSilence,  ///< stdio: nothing for `probe_timeout`
        kExit,  ///< stdio: the child ended
        kNoAnswer,  ///< HTTP: no connection, or no answer in time
    };

    Kind kind = Kind::kMessage;
    int http_status = 0;  ///< 0: stdio
    const Message* message = nullptr;  ///< of kMessage
};

enum class ProbeEnd : std::uint8_t {
    kModern,  ///< requests at `revision`
    kLegacy,  ///< `initialize`; over HTTP, if that fails with 400, 404, 405: HTTP+SSE
    kLegacyNewChild,  ///< the same, in a new child that is not probed
    kUnusable,  ///< no common version
    kAuthorizeFirst,  ///< then again
    kUnknown,  ///< no conclusion; again later
};
struct ProbeConclusion {
    ProbeEnd end = ProbeEnd::kUnknown;
    std::optional<Revision> revision;  ///< of kModern
};

ProbeConclusion conclude(const ProbeAnswer& answer, const RevisionSet& enabled);

}  // namespace crab::mcp
