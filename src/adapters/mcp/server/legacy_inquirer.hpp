#pragma once

#include "adapters/mcp/server/post_answer.hpp"
#include "adapters/mcp/server/session.hpp"
#include "core/call/inquirer.hpp"
#include "net/http/http_exchange.hpp"

namespace crab::mcp {

/// Asks a legacy client during one of its calls: by a request on the stream of the call's POST,
/// answered by a POST of its own. Lives as long as the call, on the loop of its connection.
/// Source: docs/protocols/mcp.md, sections 2.4 and 4.8.
class LegacyInquirer final : public core::Inquirer {
public:
    struct Uses {
        std::shared_ptr<Session> session;
        net::HttpExchange& exchange;
        PostAnswer& answer;
        Milliseconds patience;  ///< with one question
    };
    explicit LegacyInquirer(Uses uses) : uses_(std::move(uses)) {}

    Answers answers() const override;
    Task<Result<std::string>> ask(core::Question question) override;
    unsigned rounds() const override { return rounds_; }

private:
    const Uses uses_;
    unsigned rounds_ = 0, open_ = 0;
};

}  // namespace crab::mcp
