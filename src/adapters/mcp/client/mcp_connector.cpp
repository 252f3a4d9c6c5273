#include "adapters/mcp/client/mcp_connector.hpp"

#include "adapters/mcp/client/child_transport.hpp"
#include "adapters/mcp/client/sse_transport.hpp"
#include "adapters/mcp/client/streamable_transport.hpp"
#include "adapters/mcp/client/upstream_link.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

using EraChoice = UpstreamOptions::EraChoice;

bool speaks_the_older_transport(int http_status) {
    return http_status == 400 || http_status == 404 || http_status == 405;
}

}  // namespace

Task<Result<std::shared_ptr<UpstreamSession>>> McpConnector::connect(
    UpstreamOptions options, core::Inquirer::Answers answers) {
    const Deadline deadline = services_.loop.clock().steady_now() + options.start_timeout;
    Attempt attempt{.options = options, .answers = answers, .deadline = deadline};
    // Without an owner of its questions it is told that nobody answers any.
    if (options.child && !options.interactive) attempt.answers = {};
    if (options.era == EraChoice::kModern) co_return co_await open_modern(attempt);
    if (options.era == EraChoice::kSse) co_return co_await open_sse(attempt);
    const bool known_sse = options.known && options.known->form == FoundEra::Form::kSse;
    const bool known_legacy = options.known && options.known->form == FoundEra::Form::kLegacy;
    if (options.era == EraChoice::kProbe && !known_sse && !known_legacy)
        co_return co_await find_out(attempt);
    Opened opened = fail(Error{});
    if (known_sse) {
        opened = co_await open_sse(attempt);
    } else {
        auto conversation = co_await start(attempt, false);
        if (!conversation) co_return fail(std::move(conversation.error()));
        opened = co_await open_legacy(attempt, std::move(*conversation));
    }
    const bool contradicted = !opened && opened.error().code == ErrorCode::kToolFailed;
    if (!contradicted || options.era != EraChoice::kProbe) co_return opened;
    co_return co_await find_out(attempt);
}

Result<McpConnector::Conversation> McpConnector::make(const Attempt& attempt, bool as_sse) const {
    const UpstreamOptions& options = attempt.options;
    // A session of Streamable HTTP that was told of questions is one caller's.
    const bool own_session =
        !options.child && !as_sse && attempt.answers != core::Inquirer::Answers{};
    const UpstreamConversation::Options own{.source = options.source,
                                            .ask = options.ask,
                                            .interactive = options.interactive || own_session,
                                            .max_message = options.max_reply,
                                            .dropped = options.dropped};
    std::unique_ptr<UpstreamTransport> transport;
    if (options.child) {
        if (options.child->words.empty())
            return fail(ErrorCode::kInvalidArgs, "an MCP server without a command");
        transport = std::make_unique<ChildTransport>(
            services_.loop,
            ChildTransport::Options{
                .source = options.source, .child = *options.child, .max_line = options.max_reply});
    } else {
        auto url = parse_upstream_url(options.url);
        if (!url) return fail(std::move(url.error()));
        if (as_sse)
            transport = std::make_unique<SseTransport>(services_, options, std::move(*url));
        else
            transport = std::make_unique<StreamableTransport>(services_, options, std::move(*url));
    }
    return std::make_unique<UpstreamConversation>(services_.loop, std::move(transport), own);
}

Task<Result<McpConnector::Conversation>> McpConnector::start(const Attempt& attempt,
                                                             bool as_sse) const {
    auto made = make(attempt, as_sse);
    if (!made) co_return fail(std::move(made.error()));
    Result<void> started = co_await (*made)->start(attempt.deadline);
    if (started) co_return std::move(*made);
    co_await (*made)->close();
    co_return fail(std::move(started.error()));
}

Task<McpConnector::Opened> McpConnector::find_out(const Attempt& attempt) const {
    auto conversation = co_await start(attempt, false);
    if (!conversation) co_return fail(std::move(conversation.error()));
    ProbeFinding found = co_await probe(**conversation, attempt.options, attempt.deadline);
    switch (found.conclusion.end) {
        case ProbeEnd::kModern: {
            if (found.facts)
                co_return co_await finish(attempt, std::move(*conversation),
                                          std::move(*found.facts));
            auto facts = co_await discover(**conversation, attempt.options,
                                           *found.conclusion.revision, attempt.deadline);
            co_return co_await finish(attempt, std::move(*conversation), std::move(facts));
        }
        case ProbeEnd::kLegacy: co_return co_await open_legacy(attempt, std::move(*conversation));
        case ProbeEnd::kLegacyNewChild: {
            co_await (*conversation)->close();
            auto another = co_await start(attempt, false);
            if (!another) co_return fail(std::move(another.error()));
            co_return co_await open_legacy(attempt, std::move(*another));
        }
        case ProbeEnd::kUnusable:
        case ProbeEnd::kAuthorizeFirst:
        case ProbeEnd::kUnknown: break;
    }
    if (found.error.message.empty())
        found.error = {.code = ErrorCode::kUnavailable,
                       .message = fmt::format("the MCP server {} gives no clear answer",
                                              attempt.options.source)};
    co_return co_await finish(attempt, std::move(*conversation), fail(std::move(found.error)));
}

Task<McpConnector::Opened> McpConnector::open_modern(const Attempt& attempt) const {
    const auto newest = attempt.options.enabled.newest(Era::kModern);
    if (!newest) co_return fail(ErrorCode::kInvalidArgs, "no modern version of MCP is enabled");
    auto conversation = co_await start(attempt, false);
    if (!conversation) co_return fail(std::move(conversation.error()));
    auto facts = co_await discover(**conversation, attempt.options, *newest, attempt.deadline);
    co_return co_await finish(attempt, std::move(*conversation), std::move(facts));
}

Task<McpConnector::Opened> McpConnector::open_legacy(const Attempt& attempt,
                                                     Conversation conversation) const {
    LegacyOpening opening =
        co_await initialize(*conversation, attempt.options, attempt.answers, attempt.deadline);
    const bool older = !opening.facts && !attempt.options.child &&
                       attempt.options.era != EraChoice::kLegacy &&
                       speaks_the_older_transport(opening.http_status);
    if (!older)
        co_return co_await finish(attempt, std::move(conversation), std::move(opening.facts));
    co_await conversation->close();
    co_return co_await open_sse(attempt);
}

Task<McpConnector::Opened> McpConnector::open_sse(const Attempt& attempt) const {
    auto conversation = co_await start(attempt, true);
    if (!conversation) co_return fail(std::move(conversation.error()));
    const core::Inquirer::Answers answers =
        attempt.options.interactive ? attempt.answers : core::Inquirer::Answers{};
    LegacyOpening opening =
        co_await initialize(**conversation, attempt.options, answers, attempt.deadline);
    if (opening.facts) opening.facts->found.form = FoundEra::Form::kSse;
    co_return co_await finish(attempt, std::move(*conversation), std::move(opening.facts));
}

Task<McpConnector::Opened> McpConnector::finish(const Attempt& attempt, Conversation conversation,
                                                Result<UpstreamFacts> facts) const {
    if (facts) {
        co_await conversation->opened(facts->found.revision, attempt.deadline);
        if (conversation->is_open())
            co_return std::make_shared<UpstreamLink>(std::move(conversation), attempt.options,
                                                     std::move(*facts));
        facts = fail(*conversation->ended_with());
    }
    co_await conversation->close();
    if (attempt.options.last_words) *attempt.options.last_words = conversation->error_tail();
    co_return fail(std::move(facts.error()));
}

}  // namespace crab::mcp
