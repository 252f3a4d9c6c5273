#pragma once

#include "adapters/mcp/wire/revision.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// Params of requests to an upstream, with the `_meta` that is the gateway's own.
/// Source: docs/protocols/mcp.md, sections 2.3, 4.6, 4.8.
namespace crab::mcp {

struct OutgoingMeta {
    Revision revision = Revision::k2026_07_28;
    std::optional<std::int64_t> progress_token;
    std::string_view capabilities;  ///< an object; for modern upstreams
    std::string_view client_info;   ///< an object; for modern upstreams
    std::string_view log_level;     ///< for modern upstreams; empty: no log
    std::string_view traceparent;
    std::string_view more;  ///< an object whose members are added; may be empty
};

/// What a round of questions adds; empty: nothing.
struct OutgoingRound {
    std::string_view input_responses;  ///< an object
    std::string_view request_state;    ///< JSON, as it came
};

/// `params`: an object, or empty; a `_meta` in it is left out. Empty when there is nothing to say.
std::string outgoing_params(std::string_view params, const OutgoingMeta& meta,
                            const OutgoingRound& round = {});

}  // namespace crab::mcp
