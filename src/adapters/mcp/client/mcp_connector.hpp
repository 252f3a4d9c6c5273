#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "adapters/mcp/client/upstream_http.hpp"
#include "adapters/mcp/client/upstream_opening.hpp"

#include <memory>

namespace crab::mcp {

/// Opens sessions over all transports: docs/protocols/mcp.md, section 2.8.
class McpConnector final : public UpstreamConnector {
public:
    explicit McpConnector(UpstreamHttp::Services services) : services_(std::move(services)) {}

    Task<Result<std::shared_ptr<UpstreamSession>>> connect(
        UpstreamOptions options, core::Inquirer::Answers answers) override;

private:
    /// One attempt to open a session.
    struct Attempt {
        const UpstreamOptions& options;
        core::Inquirer::Answers answers;
        Deadline deadline;
    };
    using Conversation = std::unique_ptr<UpstreamConversation>;
    using Opened = Result<std::shared_ptr<UpstreamSession>>;

    Result<Conversation> make(const Attempt& attempt, bool as_sse) const;
    Task<Result<Conversation>> start(const Attempt& attempt, bool as_sse) const;
    Task<Opened> find_out(const Attempt& attempt) const;
    Task<Opened> open_modern(const Attempt& attempt) const;
    Task<Opened> open_legacy(const Attempt& attempt, Conversation conversation) const;
    Task<Opened> open_sse(const Attempt& attempt) const;
    Task<Opened> finish(const Attempt& attempt, Conversation conversation,
                        Result<UpstreamFacts> facts) const;

    const UpstreamHttp::Services services_;
};

}  // namespace crab::mcp
