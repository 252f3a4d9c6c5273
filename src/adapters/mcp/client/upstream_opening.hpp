#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/client/upstream_conversation.hpp"
#include "adapters/mcp/wire/era_probe.hpp"

#include <string>

/// How a conversation begins: docs/protocols/mcp.md, sections 2.8 and 3.1.
namespace crab::mcp {

/// What an upstream has said of itself.
struct UpstreamFacts {
    FoundEra found;
    std::string capabilities = "{}";  ///< objects
    std::string info = "{}";
    std::string instructions;
};

struct ProbeFinding {
    ProbeConclusion conclusion;
    /// Of kModern, if the probe's answer was already the whole of it
    std::optional<UpstreamFacts> facts;
    Error error;  ///< why there is no conclusion, or the upstream cannot be used
};

/// `server/discover`, once more if the upstream says that it speaks the version it was asked for.
Task<ProbeFinding> probe(UpstreamConversation& conversation, const UpstreamOptions& options,
                         Deadline deadline);
/// The facts of a modern upstream, of a revision that is known. Errors: as of a request; the
/// upstream's own error is kToolFailed.
Task<Result<UpstreamFacts>> discover(UpstreamConversation& conversation,
                                     const UpstreamOptions& options, Revision revision,
                                     Deadline deadline);

struct LegacyOpening {
    Result<UpstreamFacts> facts;
    int http_status = 0;
};
/// `initialize`, up to its answer. `answers`: what is declared, as far as `ask`
/// allows.
Task<LegacyOpening> initialize(UpstreamConversation& conversation, const UpstreamOptions& options,
                               core::Inquirer::Answers answers, Deadline deadline);

}  // namespace crab::mcp
