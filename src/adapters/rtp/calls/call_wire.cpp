#include "adapters/rtp/calls/call_wire.hpp"

#include "base/encoding.hpp"
#include "core/call/plain_form.hpp"
#include "crypto/digest.hpp"
#include "json/duplicates.hpp"
#include "json/element.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

namespace crab::rtp {
namespace {

using json::Element;

constexpr std::size_t kMaxText = 256;
constexpr std::int64_t kMaxTimeoutMs = 120'000;
constexpr std::size_t kPrincipalDigits = 32;
constexpr std::array<std::string_view, 4> kOrigins{"agent_turn", "cron", "operator", "system"};

std::unexpected<CallRefusal> bad_form(std::string message) {
    return std::unexpected(CallRefusal{400, std::move(message)});
}
std::unexpected<CallRefusal> bad_value(std::string message) {
    return std::unexpected(CallRefusal{200, std::move(message)});
}

/// A comparison with a text of known size is a few instructions; `==` calls a function.
template <std::size_t kSize>
bool is(std::string_view text, const char (&name)[kSize]) {
    return text.size() == kSize - 1 && std::memcmp(text.data(), name, kSize - 1) == 0;
}

bool is_blank(std::string_view text) {
    return std::ranges::all_of(text, [](char c) { return c == ' ' || (c >= '\t' && c <= '\r'); });
}

/// Copies into `texts`, which never grows beyond its reservation: what is unescaped is not longer
/// than what was read.
std::string_view keep(std::string& texts, std::string_view text) {
    const std::size_t at = texts.size();
    texts += text;
    return std::string_view(texts).substr(at);
}

/// Reads one string member into `field`; false when it is not a string.
bool take(Element value, std::string& texts, std::string_view& field) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) return false;
    field = keep(texts, text);
    return true;
}

std::string_view* context_field(core::CallContext& context, std::string_view key) {
    if (is(key, "agent_id")) return &context.agent_id;
    if (is(key, "session_id")) return &context.session_id;
    if (is(key, "platform")) return &context.platform;
    if (is(key, "channel_id")) return &context.channel_id;
    if (is(key, "actor_id")) return &context.actor_id;
    if (is(key, "isolation_key")) return &context.isolation_key;
    if (is(key, "trace_id")) return &context.trace_id;
    if (is(key, "request_origin")) return &context.request_origin;
    return nullptr;
}

std::expected<void, CallRefusal> parse_context(Element value, bool repeats_names,
                                               std::string& texts, core::CallContext& context) {
    simdjson::dom::object object;
    if (value.get(object) != simdjson::SUCCESS) return bad_form("/context: must be an object");
    if (repeats_names && json::has_duplicate_members(value))
        return bad_form("/context: has two members of one name");
    for (const auto member : object) {
        std::string_view* field = context_field(context, member.key);
        if (field == nullptr)
            return bad_form(fmt::format("/context/{}: unknown member; remove it", member.key));
        if (!take(member.value, texts, *field))
            return bad_form(fmt::format("/context/{}: must be a string", member.key));
    }
    return {};
}

/// An integer in the sense of JSON Schema, of any size.
bool is_whole_number(Element value) {
    double number = 0;
    return value.get(number) == simdjson::SUCCESS && number == std::floor(number);
}

/// Whether a member that must be there and not blank is not.
bool is_missing(std::string_view text) { return text.data() == nullptr || is_blank(text); }

/// What a request said beside what is in its `Call` already.
struct RequestMembers {
    std::string_view version;
    std::optional<std::int64_t> timeout_ms;
    bool has_context = false;
    std::optional<Element> args;
};

/// The form of each member; whether all are there is looked at later, for a request with broken
/// members is answered otherwise than one with bad values.
std::expected<void, CallRefusal> read_members(const json::Root& root, std::string& texts,
                                              core::Call& call, RequestMembers& said) {
    const Element request = root.element();
    for (const auto member : request.get_object().value_unsafe()) {
        const std::string_view key = member.key;
        bool fits = true;
        if (is(key, "call_id")) {
            fits = take(member.value, texts, call.id);
        } else if (is(key, "tool_name")) {
            fits = take(member.value, texts, call.tool);
        } else if (is(key, "version")) {
            fits = take(member.value, texts, said.version);
        } else if (is(key, "tenant_id")) {
            fits = take(member.value, texts, call.tenant);
        } else if (is(key, "idempotency_key")) {
            fits = take(member.value, texts, call.idempotency_key);
        } else if (is(key, "args")) {
            if (!member.value.is_object()) return bad_form("/args: must be an object");
            said.args = member.value;
            if (!root.repeats_names()) continue;
            if (const auto twice = json::find_duplicate(member.value))
                return bad_form(fmt::format("/args{}: there are two members of this name", *twice));
        } else if (is(key, "context")) {
            said.has_context = true;
            if (auto parsed =
                    parse_context(member.value, root.repeats_names(), texts, call.context);
                !parsed)
                return parsed;
        } else if (is(key, "timeout_ms")) {
            said.timeout_ms = json::get_int64(request, "timeout_ms");
            if (!said.timeout_ms && !is_whole_number(member.value))
                return bad_form("/timeout_ms: must be an integer");
            if (!said.timeout_ms) return bad_value("/timeout_ms: must be 1 to 120000");
        } else {
            return bad_form(fmt::format("/{}: unknown member; remove it", key));
        }
        if (!fits) return bad_form(fmt::format("/{}: must be a string", key));
    }
    return {};
}

std::expected<void, CallRefusal> check_required(const core::Call& call,
                                                const RequestMembers& said) {
    if (is_missing(said.version)) return bad_value("/version: required, must be \"v1\"");
    if (!is(said.version, "v1")) return bad_value("/version: must be \"v1\"");
    if (is_missing(call.id)) return bad_value("/call_id: required and not blank");
    if (is_missing(call.tool)) return bad_value("/tool_name: required and not blank");
    if (is_missing(call.tenant)) return bad_value("/tenant_id: required and not blank");
    if (!said.args) return bad_value("/args: required, an object");
    if (!said.has_context) return bad_value("/context: required, an object");
    if (is_missing(call.context.agent_id))
        return bad_value("/context/agent_id: required and not blank");
    if (is_missing(call.context.session_id))
        return bad_value("/context/session_id: required and not blank");
    return {};
}

std::expected<void, CallRefusal> check_bounds(const core::Call& call, const RequestMembers& said) {
    for (const std::string_view text :
         {call.id, call.tool, call.tenant, call.idempotency_key, call.context.agent_id,
          call.context.session_id, call.context.platform, call.context.channel_id,
          call.context.actor_id, call.context.isolation_key, call.context.trace_id}) {
        if (text.size() > kMaxText)
            return bad_value("a string outside args has more than 256 bytes");
    }
    const std::string_view origin = call.context.request_origin;
    if (origin.data() != nullptr && std::ranges::find(kOrigins, origin) == kOrigins.end()) {
        return bad_value(
            "/context/request_origin: must be one of agent_turn, cron, operator, system");
    }
    if (said.timeout_ms && (*said.timeout_ms < 1 || *said.timeout_ms > kMaxTimeoutMs))
        return bad_value("/timeout_ms: must be 1 to 120000");
    return {};
}

std::expected<void, CallRefusal> read_request(const json::Root& root, std::string& texts,
                                              core::Call& call, RequestMembers& said) {
    if (root.repeats_names() && json::has_duplicate_members(root.element()))
        return bad_form("the request has two members of one name");
    if (auto good = read_members(root, texts, call, said); !good) return good;
    if (auto good = check_required(call, said); !good) return good;
    return check_bounds(call, said);
}

/// So that a refusal can name them, whatever is wrong with the members before them.
void read_ids(Element request, std::string& texts, core::Call& call) {
    const auto read = [&](std::string_view name, std::string_view& field) {
        const auto text = json::get_string(request, name);
        if (text && field.data() == nullptr) field = keep(texts, *text);
    };
    read("call_id", call.id);
    read("tool_name", call.tool);
}

}  // namespace

std::expected<void, CallRefusal> parse_call_request(std::string_view body, json::Parser& parser,
                                                    std::string& texts, core::Call& call) {
    auto root = parser.parse(body);
    if (!root) return bad_form(root.error().message);
    if (!root->element().is_object()) return bad_form("the request must be a JSON object");
    texts.reserve(texts.size() + body.size());
    RequestMembers said;
    if (auto good = read_request(*root, texts, call, said); !good) {
        read_ids(root->element(), texts, call);
        return good;
    }
    if (said.timeout_ms) call.timeout = Milliseconds(*said.timeout_ms);
    call.args = root->raw(*said.args);
    call.parsed_args = parser.lend(*said.args);
    return {};
}

std::string principal_on_wire(std::string_view id) {
    return crypto::sha256_hex(id).substr(0, kPrincipalDigits);
}

std::string_view wire_code(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgs: return "INVALID_ARGS";
        case ErrorCode::kToolNotFound: return "TOOL_NOT_FOUND";
        case ErrorCode::kNotFound: return "INVALID_ARGS";
        case ErrorCode::kUnauthenticated: return "UNAUTHORIZED";
        case ErrorCode::kForbidden: return "FORBIDDEN";
        case ErrorCode::kAuthRequired: return "FORBIDDEN";
        case ErrorCode::kPairingRequired: return "PAIRING_REQUIRED";
        case ErrorCode::kPairingFailed: return "PAIRING_FAILED";
        case ErrorCode::kApprovalRequired: return "FORBIDDEN";
        case ErrorCode::kWorktreeNotBound:
        case ErrorCode::kPolicyUnenforceable: return "FORBIDDEN";
        case ErrorCode::kAmbiguousTool: return "AMBIGUOUS_TOOL";
        case ErrorCode::kConflict: return "CONFLICT";
        case ErrorCode::kAlreadyInProgress: return "CONFLICT";
        case ErrorCode::kRateLimited: return "RATE_LIMITED";
        case ErrorCode::kOversize: return "OVERSIZE";
        case ErrorCode::kUnavailable: return "DEPENDENCY_UNAVAILABLE";
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout: return "TIMEOUT";
        case ErrorCode::kCancelled: return "CANCELLED";
        case ErrorCode::kOutcomeUnknown: return "OUTCOME_UNKNOWN";
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kToolFailed: return "TOOL_FAILED";
        case ErrorCode::kInternal: return "INTERNAL";
    }
    return "INTERNAL";
}

std::string_view wire_status(const core::Outcome& outcome) {
    switch (core::status_of(outcome)) {
        case core::Status::kOk: return "ok";
        case core::Status::kRetryableError: return "retryable_error";
        case core::Status::kTimeout: return "timeout";
        case core::Status::kError:
        case core::Status::kCancelled:
        case core::Status::kUnknown: return "error";
    }
    return "error";
}

void append_result(std::string& out, const core::ToolResult& result) {
    if (const auto plain = core::plain_form(result)) return append_result(out, *plain);
    json::Writer writer(out);
    switch (result.kind) {
        case core::ContentKind::kText:
            writer.begin_object().key("text").string(result.content).end_object();
            return;
        case core::ContentKind::kJson:
            if (result.content.starts_with('{')) {
                out += result.content;
            } else {
                writer.begin_object().key("value").raw(result.content).end_object();
            }
            return;
        case core::ContentKind::kBytes: {
            const auto* bytes = reinterpret_cast<const std::uint8_t*>(result.content.data());
            writer.begin_object()
                .key("content_type")
                .string(result.content_type)
                .key("data_base64")
                .string(to_base64({bytes, result.content.size()}))
                .end_object();
            return;
        }
    }
}

void append_error(json::Writer& writer, const Error& error, bool retryable) {
    writer.begin_object()
        .key("code")
        .string(wire_code(error.code))
        .key("message")
        .string_lossy(error.message)
        .key("retryable")
        .boolean(retryable);
    if (error.retry_after && error.details.empty()) {
        writer.key("details")
            .begin_object()
            .key("retry_after_ms")
            .integer(error.retry_after->count())
            .end_object();
    } else if (!error.details.empty()) {
        writer.key("details").raw(error.details);
    }
    writer.end_object();
}

void append_call_response(std::string& out, std::string_view call_id, std::string_view tool,
                          std::int64_t duration_ms, const core::Outcome& outcome,
                          const core::Tool* called) {
    out += R"({"version":"v1","call_id":)";
    json::append_quoted(out, call_id);
    out += R"(,"tool_name":)";
    json::append_quoted(out, tool);
    out += R"(,"status":")";
    out += wire_status(outcome);
    out += R"(","duration_ms":)";
    fmt::format_to(std::back_inserter(out), "{}", duration_ms);
    if (outcome) {
        out += R"(,"result":)";
        append_result(out, *outcome);
        if (!outcome->logs.empty()) {
            out += R"(,"logs":)";
            json::Writer writer(out);
            writer.begin_array();
            for (const std::string& line : outcome->logs) writer.string_lossy(line);
            writer.end_array();
        }
    } else {
        out += R"(,"error":)";
        json::Writer writer(out);
        const core::Status status = core::status_of(outcome);
        const bool harmless =
            called != nullptr && (called->spec.idempotent || !called->spec.may_have_effects());
        append_error(writer, outcome.error(),
                     status == core::Status::kRetryableError ||
                         (status == core::Status::kTimeout && harmless));
    }
    out += '}';
}

std::expected<CancelRequest, std::string> parse_cancel_request(std::string_view body,
                                                               json::Parser& parser,
                                                               std::string& texts) {
    auto root = parser.parse(body);
    if (!root) return std::unexpected(root.error().message);
    simdjson::dom::object object;
    if (root->element().get(object) != simdjson::SUCCESS)
        return std::unexpected("the request must be a JSON object");
    if (root->repeats_names() && json::has_duplicate_members(root->element()))
        return std::unexpected("the request has two members of one name");
    texts.reserve(texts.size() + body.size());
    CancelRequest request;
    std::string_view version;
    for (const auto member : object) {
        std::string_view* field = member.key == "version"     ? &version
                                  : member.key == "tenant_id" ? &request.tenant_id
                                  : member.key == "call_id"   ? &request.call_id
                                  : member.key == "reason"    ? &request.reason
                                                              : nullptr;
        if (field == nullptr)
            return std::unexpected(fmt::format("/{}: unknown member; remove it", member.key));
        if (!take(member.value, texts, *field))
            return std::unexpected(fmt::format("/{}: must be a string", member.key));
    }
    if (version != "v1") return std::unexpected("/version: must be \"v1\"");
    if (is_missing(request.tenant_id)) return std::unexpected("/tenant_id: required and not blank");
    if (is_missing(request.call_id)) return std::unexpected("/call_id: required and not blank");
    constexpr std::array<std::string_view, 4> kReasons{"cancelled", "timeout", "caller_gone",
                                                       "shutdown"};
    if (request.reason.data() != nullptr &&
        std::ranges::find(kReasons, request.reason) == kReasons.end()) {
        return std::unexpected("/reason: must be one of cancelled, timeout, caller_gone, shutdown");
    }
    return request;
}

void append_discovered_tool(std::string& out, std::string_view name, const core::Tool& tool) {
    const core::ToolSpec& spec = tool.spec;
    constexpr std::int64_t kMaxMs = 120'000;
    json::Writer writer(out);
    writer.begin_object().key("name").string(name);
    if (!spec.title.empty()) writer.key("title").string(spec.title);
    writer.key("description").string(spec.description).key("input_schema").raw(spec.input_schema);
    writer.key("output_schema")
        .raw(spec.output_schema.empty() ? std::string_view(R"({"type":"object"})")
                                        : std::string_view(spec.output_schema));
    writer.key("timeout_ms_default")
        .integer(std::clamp<std::int64_t>(spec.default_timeout.count(), 1, kMaxMs));
    writer.key("timeout_ms_max")
        .integer(std::clamp<std::int64_t>(spec.max_timeout.count(), 1, kMaxMs));
    writer.key("idempotent")
        .boolean(spec.idempotent)
        .key("side_effects")
        .boolean(spec.may_have_effects());
    if (spec.max_concurrency) writer.key("max_concurrency").unsigned_integer(*spec.max_concurrency);
    writer.key("accepts_idempotency_key").boolean(true);
    const core::Annotations& claims = spec.annotations;
    if (claims.read_only || claims.destructive || claims.open_world) {
        writer.key("annotations").begin_object();
        if (claims.read_only) writer.key("read_only").boolean(*claims.read_only);
        if (claims.destructive) writer.key("destructive").boolean(*claims.destructive);
        if (claims.open_world) writer.key("open_world").boolean(*claims.open_world);
        writer.end_object();
    }
    writer.end_object();
}

}  // namespace crab::rtp
