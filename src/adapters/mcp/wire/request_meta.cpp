#include "adapters/mcp/wire/request_meta.hpp"

#include "json/raw_parts.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace crab::mcp {
namespace {

constexpr std::ptrdiff_t kMaxKeyCharacters = 256;

std::string_view object_or_none(std::string_view raw) {
    return raw.starts_with('{') ? raw : std::string_view{};
}

bool is_key(std::string_view text) {
    const auto begins_character = [](char c) {
        return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
    };
    return !text.empty() && std::ranges::count_if(text, begins_character) <= kMaxKeyCharacters;
}

void read_member(RequestMeta& meta, std::string_view name, std::string_view raw) {
    const auto text = [&] { return json::read_raw_string(raw).value_or(""); };
    if (name == kVersionKey) {
        meta.names_version = true;
        meta.version = json::read_raw_string(raw);
    } else if (name == kCapabilitiesKey) {
        meta.capabilities = object_or_none(raw);
    } else if (name == kClientInfoKey) {
        meta.client_info = object_or_none(raw);
    } else if (name == kLogLevelKey) {
        meta.log_level = text();
    } else if (name == "progressToken") {
        meta.progress_token = RequestId::read(raw);
    } else if (name == "traceparent") {
        meta.traceparent = text();
    } else if (name == "tracestate") {
        meta.tracestate = text();
    } else if (name == "baggage") {
        meta.baggage = text();
    } else if (name == "crab/idempotencyKey") {
        meta.idempotency_key = text();
        if (!is_key(meta.idempotency_key))
            meta.wrong = "crab/idempotencyKey: a string of 1 to 256 characters";
    } else if (name == "crab/timeoutMs") {
        const auto number = RequestId::read(raw);
        if (number && number->number() != nullptr && *number->number() >= 1) {
            meta.timeout_ms = *number->number();
        } else {
            meta.wrong = "crab/timeoutMs: an integer, 1 at least";
        }
    }
}

/// Where the bytes of a member of the params belong; null: they are not kept.
std::string_view* slot_of(RequestMeta& meta, std::string_view name) {
    if (name == "name") return &meta.beside.name;
    if (name == "arguments") return &meta.beside.arguments;
    if (name == "requestState") return &meta.beside.request_state;
    if (name == "inputResponses") return &meta.beside.input_responses;
    return nullptr;
}

/// Of members with one name the first counts.
template <class Parts>
void read_params(Parts& params, RequestMeta& meta) {
    bool has_meta = false;
    while (params.next()) {
        const std::string_view name = params.name();
        if (name == "_meta" && !std::exchange(has_meta, true)) {
            Parts members = params.inside();
            while (members.next()) read_member(meta, members.name(), members.value());
            params.passed(members);
        } else if (std::string_view* const slot = slot_of(meta, name);
                   slot != nullptr && slot->empty()) {
            *slot = params.value();
        }
    }
}

RpcError unsupported(std::string_view requested, const RevisionSet& enabled) {
    RpcError error{.code = rpc_code::kUnsupportedVersion, .message = {}, .data = {}};
    const auto known = find_revision(requested);
    const bool legacy = known && enabled.contains(*known) && era_of(*known) == Era::kLegacy;
    error.message = legacy ? fmt::format("version {} is opened by `initialize`", requested)
                           : "this protocol version is not spoken here: use one of `supported`";
    json::Writer writer(error.data);
    writer.begin_object().key("supported").raw(enabled.to_json());
    writer.key("requested").string(requested).end_object();
    return error;
}

}  // namespace

RequestMeta read_request_meta(std::string_view params) {
    RequestMeta meta;
    json::RawParts parts(params);
    read_params(parts, meta);
    return meta;
}

void read_request_meta(json::TokenParts& params, RequestMeta& meta) { read_params(params, meta); }

std::expected<Revision, RpcError> check_modern_request(
    const RequestMeta& meta, Carrier carrier, std::optional<std::string_view> version_header,
    const RevisionSet& enabled) {
    const auto wrong = [](std::int64_t code, std::string_view why) {
        return std::unexpected(RpcError{.code = code, .message = std::string(why), .data = {}});
    };
    if (!meta.version) return wrong(rpc_code::kInvalidParams, "`_meta` names no protocolVersion");
    if (carrier == Carrier::kHttp) {
        if (!version_header)
            return wrong(rpc_code::kHeaderMismatch, "header MCP-Protocol-Version is missing");
        if (trim(*version_header) != *meta.version) {
            return wrong(rpc_code::kHeaderMismatch,
                         "header MCP-Protocol-Version is not what `_meta` says");
        }
    }
    const auto revision = find_revision(*meta.version);
    if (!revision || !enabled.contains(*revision) || era_of(*revision) != Era::kModern)
        return std::unexpected(unsupported(*meta.version, enabled));
    if (meta.capabilities.empty())
        return wrong(rpc_code::kInvalidParams, "`_meta` has no object clientCapabilities");
    return *revision;
}

}  // namespace crab::mcp
