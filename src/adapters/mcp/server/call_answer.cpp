#include "adapters/mcp/server/call_answer.hpp"

#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/own_result.hpp"
#include "adapters/mcp/wire/result.hpp"
#include "adapters/mcp/wire/result_uris.hpp"
#include "adapters/mcp/wire/shown_url.hpp"
#include "adapters/mcp/wire/upstream_error.hpp"
#include "core/call/artifact.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::size_t kMostUrls = 8;  // of one error
constexpr std::size_t kFrameBytes = 448;  // of a response beside its content

std::optional<std::int64_t> number_of(std::string_view object, std::string_view name) {
    const auto raw = json::find_raw(object, name);
    std::int64_t number = 0;
    if (!raw) return std::nullopt;
    const char* const end = raw->data() + raw->size();
    const auto [at, error] = std::from_chars(raw->data(), end, number);
    return error == std::errc() && at == end ? std::optional(number) : std::nullopt;
}

std::string reference_result(const core::ToolResult& result) {
    const auto artifact = json::find_raw(result.content, "artifact").value_or("{}");
    const auto id = json::find_raw_string(artifact, "id").value_or("");
    const auto type = json::find_raw_string(artifact, "content_type").value_or("");
    const auto size = number_of(artifact, "bytes").value_or(0);
    return artifact_result(
        {.id = id, .name = id, .media_type = type, .size = static_cast<std::uint64_t>(size)});
}

/// `promised`: the tool has declared what its results look like.
std::string result_object(const core::ToolResult& result, std::string_view call_id, bool promised) {
    switch (result.kind) {
        case core::ContentKind::kText: return text_result(result.content);
        case core::ContentKind::kJson:
            if (result.content_type == kMcpResultType) return result.content;
            if (core::is_reference(result)) return reference_result(result);
            if (auto media = promised ? std::nullopt : media_result(result.content))
                return std::move(*media);
            return json_result(result.content);
        case core::ContentKind::kBytes:
            return bytes_result(result.content, result.content_type, call_id);
    }
    return text_result(result.content);
}

/// Whether its text is all there is to it, in every revision; media in JSON are more.
bool is_text(const core::ToolResult& result) {
    if (result.kind == core::ContentKind::kText) return true;
    return result.kind == core::ContentKind::kJson && result.content_type != kMcpResultType &&
           !core::is_reference(result) && !may_hold_media(result.content);
}

/// What devices send loses its white space as it is received.
bool is_compact(const core::CallEnd& end) {
    return end.tool != nullptr && end.tool->source.kind == core::SourceKind::kDevice;
}

/// The same as result_object() in its form, without reading what was just written.
std::string formed_text(const core::ToolResult& result, bool is_compact, const ResultForm& form,
                        std::string out) {
    // JSON is there twice, once with escapes
    out.reserve(2 * result.content.size() + result.content.size() / 4 + kFrameBytes);
    if (result.kind == core::ContentKind::kText) {
        append_text_result(out, result.content, {}, form);
    } else if (is_compact) {
        append_text_result(out, result.content, result.content, form);
    } else {
        std::string compact;
        compact.reserve(result.content.size());
        json::append_compact(compact, result.content);
        append_text_result(out, compact, result.content, form);
    }
    return out;
}

std::string call_meta(const core::Call& call, const core::CallEnd& end) {
    std::string meta = R"({"crab/call":{"id":)";
    json::append_quoted(meta, call.id);
    if (end.replayed) meta += R"(,"replayed":true)";
    const auto took = std::chrono::duration_cast<Milliseconds>(end.duration);
    meta.append(R"(,"duration_ms":)").append(std::to_string(took.count())).append("}}");
    return meta;
}

/// The result of a source's own server with URIs as this client knows them; those of links and
/// embedded resources are remembered.
std::string with_known_uris(const ClientRequest& request, const CallPlan& plan, std::string result,
                            const std::string& source, ResourceLinks& links) {
    if (!plan.view || plan.view->find_readable(source) == nullptr || !result.contains("\"uri\""))
        return result;
    if (plan.shape == CallShape::kRead) {
        return map_read_uris(result, [&](const std::string& uri) {
            return uri == plan.key ? plan.about : plan.view->known_uri(source, uri);
        });
    }
    const MapUri map = [&, left = ResourceLinks::kOfOneResult](const std::string& uri) mutable {
        std::string known = plan.view->known_uri(source, uri);
        if (known == uri && left > 0) {
            --left;
            links.remember(request.principal->id, uri, source);
        }
        return known;
    };
    return plan.shape == CallShape::kGet ? map_prompt_uris(result, map)
                                         : map_call_uris(result, map);
}

/// An upstream's own JSON-RPC error, if that is what `error` carries.
std::optional<RpcError> passed_error(const Error& error) {
    if (error.code != ErrorCode::kToolFailed) return std::nullopt;
    const auto raw = json::find_raw(error.details, kRpcErrorMember);
    const auto code = raw ? number_of(*raw, "code") : std::nullopt;
    if (!code) return std::nullopt;
    return RpcError{.code = *code,
                    .message = json::find_raw_string(*raw, "message").value_or(error.message),
                    .data = std::string(json::find_raw(*raw, "data").value_or(""))};
}

/// An upstream's own error as this client may see it (section 5, "Errors").
CallAnswer answer_of_passed(const ClientRequest& request, const CallPlan& plan, RpcError error,
                            std::string_view meta) {
    BridgedError bridged =
        bridge_error(std::move(error), {.method = request.method, .client = request.revision});
    const bool is_told = bridged.use == UpstreamErrorUse::kErrorResult ||
                         bridged.use == UpstreamErrorUse::kAskForUrls;
    if (!is_told) return CallAnswer::of_error(std::move(bridged.error));
    if (plan.shape != CallShape::kTool)
        return CallAnswer::of_error(with_token(
            {.code = rpc_code::kInternalError, .message = std::move(bridged.text), .data = {}}));
    CallAnswer answer;
    append_error_result(answer.result,
                        Error{.code = ErrorCode::kToolFailed, .message = std::move(bridged.text)},
                        request.form(meta));
    return answer;
}

core::Question url_question(std::string_view source, std::string_view elicitation) {
    core::Question question{.kind = core::Question::Kind::kUrl,
                            .key = {},
                            .method = "elicitation/create",
                            .params = {}};
    json::Writer writer(question.params);
    writer.begin_object().key("mode").string("url").key("message");
    writer.string_lossy(
        fmt::format("[{}] {}", source, json::find_raw_string(elicitation, "message").value_or("")));
    writer.key("url").string_lossy(json::find_raw_string(elicitation, "url").value_or(""));
    writer.end_object();
    return question;
}

/// A completion has a hundred values at most, and says if there are more.
std::string with_first_values(std::string_view result) {
    constexpr std::size_t kMostValues = 100;
    const auto completion = json::find_raw(result, "completion").value_or("");
    const auto values = json::find_raw(completion, "values").value_or("");
    std::size_t count = 0;
    std::string first;
    json::Writer kept(first);
    kept.begin_array();
    for (json::RawParts items(values); items.next();) {
        if (++count <= kMostValues) kept.raw(items.value());
    }
    kept.end_array();
    if (count <= kMostValues) return std::string(result);
    std::string out;
    json::Writer writer(out);
    writer.begin_object().key("completion").begin_object().key("values").raw(first);
    if (const auto total = number_of(completion, "total")) writer.key("total").integer(*total);
    writer.key("hasMore").boolean(true).end_object().end_object();
    return out;
}

std::string formed(const ClientRequest& request, const CallPlan& plan, std::string_view result,
                   const std::string& meta) {
    ResultForm form = request.form(meta);
    std::string out;
    switch (plan.shape) {
        case CallShape::kTool: append_call_result(out, result, form); break;
        case CallShape::kGet: append_prompt_result(out, result, form); break;
        case CallShape::kComplete: append_plain_result(out, with_first_values(result), form); break;
        case CallShape::kRead:
        case CallShape::kArtifact:
            form.ttl =
                Milliseconds(std::max<std::int64_t>(0, number_of(result, "ttlMs").value_or(0)));
            append_read_result(out, result, form);
            break;
    }
    return out;
}

}  // namespace

Reply CallAnswer::taken_by(const ClientRequest& request) {
    if (error) return Reply::of_passed_error(request, *error, status);
    return Reply::of_result(request, std::move(result));
}

CallAnswer answer_of_error(const ClientRequest& request, const CallPlan& plan, const Error& error,
                           std::string_view meta) {
    if (auto passed = passed_error(error))
        return answer_of_passed(request, plan, std::move(*passed), meta);
    const ErrorForm form = form_of(error.code);
    if (form.shape == ErrorShape::kHttpStatus)
        return CallAnswer::of_error(rpc_error(error, rpc_code::kInvalidRequest), form.http_status);
    const bool is_unknown = form.shape == ErrorShape::kRpcError;
    if (plan.shape == CallShape::kTool) {
        if (is_unknown) return CallAnswer::of_error(rpc_error(error));
        CallAnswer answer;
        append_error_result(answer.result, error, request.form(meta));
        return answer;
    }
    const bool reads = plan.shape == CallShape::kRead || plan.shape == CallShape::kArtifact;
    if (is_unknown && reads)
        return CallAnswer::of_error(
            resource_not_found(plan.about, "there is no such resource", request.revision));
    const bool is_clients = is_unknown || error.code == ErrorCode::kInvalidArgs;
    return CallAnswer::of_error(
        rpc_error(error, is_clients ? rpc_code::kInvalidParams : rpc_code::kInternalError,
                  reads ? std::string_view(plan.about) : std::string_view()));
}

std::vector<core::Question> urls_to_open(const ClientRequest& request, const core::CallEnd& end) {
    std::vector<core::Question> questions;
    if (!request.modern() || end.outcome->has_value() || !end.tool) return questions;
    const auto error = passed_error(end.outcome->error());
    if (!error || error->code != rpc_code::kUrlElicitationRequired) return questions;
    const auto all = json::find_raw(error->data, "elicitations").value_or("[]");
    for (json::RawParts items(all); items.next();) {
        const auto url = json::find_raw_string(items.value(), "url");
        if (!url || !is_shown_url(*url) || questions.size() == kMostUrls) return {};
        questions.push_back(url_question(end.tool->source.name, items.value()));
    }
    return questions;
}

CallAnswer answer_of(const ClientRequest& request, const CallPlan& plan, const core::Call& call,
                     const core::CallEnd& end, ResourceLinks& links, std::string room) {
    const std::string meta = call_meta(call, end);
    if (!end.outcome->has_value())
        return answer_of_error(request, plan, end.outcome->error(), meta);
    const core::ToolResult& outcome = **end.outcome;
    if (plan.shape == CallShape::kTool && is_text(outcome))
        return {.result =
                    formed_text(outcome, is_compact(end), request.form(meta), std::move(room))};
    std::string result = result_object(
        outcome, call.id, end.tool != nullptr && !end.tool->spec.output_schema.empty());
    if (outcome.content_type == kMcpResultType && end.tool)
        result = with_known_uris(request, plan, std::move(result), end.tool->source.name, links);
    return {.result = formed(request, plan, result, meta)};
}

}  // namespace crab::mcp
