#include "adapters/cetp/envelope.hpp"

#include "json/element.hpp"
#include "json/parser.hpp"
#include "json/writer.hpp"

#include <limits>

#include <fmt/format.h>

namespace crab::cetp {
namespace {

// 1 MiB with every byte escaped, and the rest
constexpr std::size_t kMaxWire = (std::size_t{6} << 20) + (std::size_t{64} << 10);

std::optional<std::string> text_of(const Fields& fields, std::string_view name) {
    const auto found = fields.find(name);
    const std::string* text =
        found != fields.end() ? std::get_if<std::string>(&found->second) : nullptr;
    return text != nullptr ? std::optional(*text) : std::nullopt;
}

std::optional<Milliseconds> retry_after_of(const Fields& fields) {
    const auto found = fields.find("retry_after_ms");
    const std::uint32_t* ms =
        found != fields.end() ? std::get_if<std::uint32_t>(&found->second) : nullptr;
    return ms != nullptr ? std::optional(Milliseconds(*ms)) : std::nullopt;
}

/// As spec/errors.json has it.
std::string_view code_of(ErrorCode code) {
    switch (code) {
        case ErrorCode::kInvalidArgs:
        case ErrorCode::kNotFound:
        case ErrorCode::kAmbiguousTool:
        case ErrorCode::kConflict:
        case ErrorCode::kOversize: return code::kInvalidArgs;
        case ErrorCode::kToolNotFound: return code::kToolNotFound;
        case ErrorCode::kAuthRequired: return code::kAuthRequired;
        case ErrorCode::kUnauthenticated:
        case ErrorCode::kForbidden:
        case ErrorCode::kPairingRequired:
        case ErrorCode::kApprovalRequired:
        case ErrorCode::kPolicyUnenforceable:
        case ErrorCode::kWorktreeNotBound: return code::kPermissionDenied;
        case ErrorCode::kAlreadyInProgress:
        case ErrorCode::kRateLimited: return code::kRateLimited;
        case ErrorCode::kPairingFailed:
        case ErrorCode::kUnavailable:
        case ErrorCode::kTimeout:
        case ErrorCode::kWallTimeout:
        case ErrorCode::kCpuBudgetExceeded:
        case ErrorCode::kCancelled:
        case ErrorCode::kOutcomeUnknown:
        case ErrorCode::kToolFailed:
        case ErrorCode::kInternal: break;
    }
    return code::kInternalError;
}

}  // namespace

std::string clean_text(std::string_view text) {
    if (text.size() > kMaxText) {
        std::size_t end = kMaxText;
        while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
        text = text.substr(0, end);
    }
    std::string clean(text);
    for (std::size_t i = 0; i < clean.size(); ++i) {
        const auto byte = static_cast<unsigned char>(clean[i]);
        if (byte < 0x20 || byte == 0x7F) clean[i] = ' ';
        // U+0080 to U+009F steer terminals too.
        if (byte == 0xC2 && i + 1 < clean.size() && static_cast<unsigned char>(clean[i + 1]) < 0xA0)
            clean.replace(i, 2, " ");
    }
    return clean;
}

Envelope Envelope::error(const Error& error) {
    return Envelope::error(code_of(error.code), error.message);
}

Envelope Envelope::no_answer_within(std::chrono::nanoseconds waited) {
    return error(
        code::kInternalError,
        fmt::format("no answer within {} ms", std::chrono::round<Milliseconds>(waited).count()));
}

Envelope Envelope::too_large(std::size_t bytes, std::size_t limit) {
    return error(code::kInternalError, fmt::format("result too large ({} > {})", bytes, limit));
}

std::string Envelope::agent_text() const {
    return hint.empty() ? fmt::format("[{}] {}", code, message)
                        : fmt::format("[{}] {} — {}", code, message, hint);
}

Envelope read_envelope(const Fields& fields) {
    const std::string status = text_of(fields, "status").value_or("");
    if (status == "success") {
        Envelope envelope = Envelope::ok(text_of(fields, "data").value_or(""));
        if (envelope.data.size() > kMaxData)
            return Envelope::too_large(envelope.data.size(), kMaxData);
        return envelope;
    }
    if (status != "error")
        return Envelope::error(code::kInternalError, "Unexpected status: " + clean_text(status));
    return {.code = clean_text(
                text_of(fields, "error_code").value_or(std::string(code::kInternalError))),
            .message = clean_text(text_of(fields, "error_message").value_or("Unknown error")),
            .hint = clean_text(text_of(fields, "resolution_hint").value_or("")),
            .intent = clean_text(text_of(fields, "authorize_intent").value_or("")),
            .retry_after = retry_after_of(fields)};
}

std::optional<Envelope> parse_envelope(std::string_view text) {
    json::Parser parser({.max_bytes = kMaxWire});
    const auto root = parser.parse(text);
    if (!root) return std::nullopt;
    json::Object object;
    if (root->element().get(object) != simdjson::SUCCESS) return std::nullopt;
    Fields fields;
    for (const auto [name, value] : object) {  // of two members with one name the last counts
        std::string_view string;
        std::uint64_t number = 0;
        if (value.get(string) == simdjson::SUCCESS) {
            fields.insert_or_assign(std::string(name), std::string(string));
        } else if (name == "data" && !value.is_null()) {
            fields.insert_or_assign(std::string(name), json::to_text(value));
        } else if (value.get(number) == simdjson::SUCCESS &&
                   number <= std::numeric_limits<std::uint32_t>::max()) {
            fields.insert_or_assign(std::string(name), static_cast<std::uint32_t>(number));
        } else {
            fields.erase(std::string(name));
        }
    }
    return read_envelope(fields);
}

std::string to_wire(const Envelope& envelope) {
    std::string text;
    json::Writer writer(text);
    writer.begin_object().key("status").string(envelope.success ? "success" : "error");
    if (envelope.success) {
        writer.key("data").string_lossy(envelope.data);
    } else {
        writer.key("error_code")
            .string_lossy(envelope.code)
            .key("error_message")
            .string_lossy(envelope.message);
        if (!envelope.hint.empty()) writer.key("resolution_hint").string_lossy(envelope.hint);
        if (!envelope.intent.empty()) writer.key("authorize_intent").string_lossy(envelope.intent);
        if (envelope.retry_after)
            writer.key("retry_after_ms").integer(envelope.retry_after->count());
    }
    writer.end_object();
    return text;
}

}  // namespace crab::cetp
