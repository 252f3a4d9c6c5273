#include "adapters/mcp/client/upstream_opening.hpp"

#include "adapters/mcp/client/outgoing_params.hpp"
#include "adapters/mcp/wire/request_headers.hpp"
#include "adapters/mcp/wire/result.hpp"
#include "adapters/mcp/wire/safe_text.hpp"
#include "base/cut_text.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kShownWords = 512;  // of an upstream, in an error
// what an upstream says of itself is kept as long as it is connected, and shown
constexpr std::size_t kMostOfItself = std::size_t{8} << 10;

std::string object_or_empty(std::string_view object, std::string_view name,
                            std::size_t most = std::string::npos) {
    const auto raw = json::find_raw(object, name);
    return raw && raw->starts_with('{') && raw->size() <= most ? std::string(*raw)
                                                               : std::string("{}");
}

/// Empty if they are too long: half of them may say something else.
std::string instructions_of(std::string_view result) {
    std::string text = json::find_raw_string(result, "instructions").value_or("");
    return text.size() <= kMostOfItself ? std::move(text) : std::string();
}

UpstreamFacts facts_of(FoundEra found, std::string_view result) {
    UpstreamFacts facts{.found = found,
                        .capabilities = object_or_empty(result, "capabilities", kMostOfItself),
                        .info = object_or_empty(result, "serverInfo", kMostOfItself),
                        .instructions = instructions_of(result)};
    if (facts.info == "{}")
        facts.info =
            object_or_empty(object_or_empty(result, "_meta"), kServerInfoKey, kMostOfItself);
    return facts;
}

Error not_mcp(const UpstreamOptions& options, std::string_view what) {
    return {.code = ErrorCode::kToolFailed,
            .message = fmt::format("the MCP server {} {}", options.source,
                                   cut_text(clean_text(what).text, kShownWords))};
}

UpstreamConversation::Request discovery(const UpstreamOptions& options, Revision revision,
                                        Deadline deadline) {
    return {.method = "server/discover",
            .params =
                [&options, revision](std::int64_t) {
                    const OutgoingMeta meta{.revision = revision,
                                            .client_info = options.client_info};
                    return outgoing_params({}, meta);
                },
            .headers = {{std::string(kVersionHeader), std::string(name_of(revision))},
                        {std::string(kMethodHeader), "server/discover"}},
            .deadline = deadline};
}

/// A reply in the form that the table of section 2.8 reads.
Message message_of(const UpstreamReply& reply) {
    Message message;
    message.kind = reply ? Message::Kind::kResult : Message::Kind::kError;
    if (reply)
        message.result = *reply;
    else
        message.error = reply.error();
    return message;
}

ProbeAnswer::Kind kind_of_failure(const ExchangeEnd& end, const UpstreamConversation& conversation,
                                  bool is_child) {
    if (is_child)
        return conversation.is_open() ? ProbeAnswer::Kind::kSilence : ProbeAnswer::Kind::kExit;
    return end.http_status != 0 ? ProbeAnswer::Kind::kOther : ProbeAnswer::Kind::kNoAnswer;
}

/// -32022 with the very version that was asked for among those it speaks: a passing confusion.
bool contradicts_itself(const ProbeConclusion& conclusion, const UpstreamReply& reply,
                        Revision asked) {
    return !reply && reply.error().code == rpc_code::kUnsupportedVersion &&
           conclusion.end == ProbeEnd::kModern && conclusion.revision == asked;
}

}  // namespace

Task<ProbeFinding> probe(UpstreamConversation& conversation, const UpstreamOptions& options,
                         Deadline deadline) {
    ProbeFinding finding;
    const auto newest = options.enabled.newest(Era::kModern);
    if (!newest) {
        finding.conclusion.end = ProbeEnd::kLegacy;
        co_return finding;
    }
    const bool is_child = options.child.has_value();
    for (int attempt = 0;; ++attempt) {
        const Deadline until = is_child
                                   ? std::min(deadline, conversation.loop().clock().steady_now() +
                                                            options.probe_timeout)
                                   : deadline;
        ExchangeEnd end = co_await conversation.run(discovery(options, *newest, until));
        ProbeAnswer answer{.http_status = end.http_status};
        Message message;
        if (end.reply) {
            message = message_of(*end.reply);
            answer.message = &message;
        } else {
            answer.kind = kind_of_failure(end, conversation, is_child);
            finding.error = end.reply.error();
        }
        finding.conclusion = conclude(answer, options.enabled);
        if ((co_await this_chain()).cancelled()) finding.conclusion.end = ProbeEnd::kUnknown;
        if (!end.reply) co_return finding;
        if (attempt == 0 && contradicts_itself(finding.conclusion, *end.reply, *newest)) continue;
        if (finding.conclusion.end == ProbeEnd::kUnusable)
            finding.error = not_mcp(options, "speaks no version that this gateway speaks");
        if (finding.conclusion.end == ProbeEnd::kModern && *end.reply)
            finding.facts =
                facts_of({FoundEra::Form::kModern, *finding.conclusion.revision}, **end.reply);
        co_return finding;
    }
}

Task<Result<UpstreamFacts>> discover(UpstreamConversation& conversation,
                                     const UpstreamOptions& options, Revision revision,
                                     Deadline deadline) {
    ExchangeEnd end = co_await conversation.run(discovery(options, revision, deadline));
    if (!end.reply) co_return fail(std::move(end.reply.error()));
    if (!*end.reply)
        co_return fail(
            not_mcp(options, "cannot be asked what it is: " + end.reply->error().message));
    co_return facts_of({FoundEra::Form::kModern, revision}, **end.reply);
}

Task<LegacyOpening> initialize(UpstreamConversation& conversation, const UpstreamOptions& options,
                               core::Inquirer::Answers answers, Deadline deadline) {
    const auto newest = options.enabled.newest(Era::kLegacy);
    if (!newest)
        co_return LegacyOpening{
            .facts = fail(not_mcp(options, "speaks legacy versions, which are not enabled here"))};
    std::string params;
    json::Writer(params)
        .begin_object()
        .key("protocolVersion")
        .string(name_of(*newest))
        .key("capabilities")
        .raw(upstream_capabilities(client_capabilities(answers), options.ask, *newest))
        .key("clientInfo")
        .raw(options.client_info.empty() ? R"({"name":"crab","version":"0"})"
                                         : std::string_view(options.client_info))
        .end_object();
    UpstreamConversation::Request request{.method = "initialize",
                                          .params = [&params](std::int64_t) { return params; },
                                          .headers = {},
                                          .deadline = deadline};
    ExchangeEnd end = co_await conversation.run(std::move(request));
    LegacyOpening opening{.facts = fail(Error{}), .http_status = end.http_status};
    if (!end.reply) {
        opening.facts = fail(std::move(end.reply.error()));
        co_return opening;
    }
    if (!*end.reply) {
        opening.facts =
            fail(not_mcp(options, "refused to open a session: " + end.reply->error().message));
        co_return opening;
    }
    const auto version = json::find_raw_string(**end.reply, "protocolVersion");
    const auto revision = find_revision(version.value_or(""));
    if (!revision || era_of(*revision) != Era::kLegacy || !options.enabled.contains(*revision)) {
        opening.facts = fail(not_mcp(
            options, fmt::format("opened a session of version \"{}\", which is not spoken here",
                                 version.value_or(""))));
        co_return opening;
    }
    opening.facts = facts_of({FoundEra::Form::kLegacy, *revision}, **end.reply);
    co_return opening;
}

}  // namespace crab::mcp
