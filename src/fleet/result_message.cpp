#include "core/registry/absent_tool.hpp"
#include "fleet/message_body.hpp"

#include <algorithm>
#include <limits>

namespace crab::fleet {
namespace {

using bus::FieldReader;
using bus::FieldWriter;
using core::ContentKind;

constexpr std::size_t kMostTexts = 10'000;

// The numbers of fields are the wire's.
constexpr std::uint8_t kNoTrace = 7;
constexpr std::uint8_t kContent = 80, kKind = 81, kContentType = 82, kLog = 83, kCpu = 84,
                       kWall = 85, kMemory = 86, kOutput = 87, kExit = 88, kUnenforced = 89,
                       kPlace = 90, kPresentation = 91;
constexpr std::uint8_t kCode = 92, kMessage = 93, kDetails = 94, kRetryable = 95, kRetryAfter = 96;
constexpr std::uint8_t kDuration = 97, kReplayed = 98, kToolName = 99, kToolSource = 100,
                       kSideEffects = 101, kIdempotent = 102, kAttempts = 103, kApproval = 104,
                       kCancelledBy = 105;
/// So that 0 and less are written too.
constexpr std::uint64_t kExitOffset = 1'000'000;

std::uint64_t number_of(Milliseconds span) {
    return span.count() < 0 ? 0 : static_cast<std::uint64_t>(span.count());
}
std::int64_t span_of(std::uint64_t number) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(std::min(number, kMost));
}

void add_result(FieldWriter& body, const core::ToolResult& result) {
    body.add_always(kContent, result.content);
    body.add_number(kKind, static_cast<std::uint64_t>(result.kind));
    body.add(kContentType, result.content_type);
    for (const std::string& line : result.logs) body.add_always(kLog, line);
    body.add_number(kCpu, number_of(result.usage.cpu));
    body.add_number(kWall, number_of(result.usage.wall));
    body.add_number(kMemory, result.usage.peak_memory_bytes);
    body.add_number(kOutput, result.usage.output_bytes);
    if (result.usage.exit_status)
        body.add_number(kExit, static_cast<std::uint64_t>(*result.usage.exit_status) + kExitOffset);
    if (!result.extras) return;
    for (const std::string& label : result.extras->unenforced) body.add_always(kUnenforced, label);
    body.add(kPlace, result.extras->place);
    body.add(kPresentation, result.extras->presentation);
}

void add_error(FieldWriter& body, const Error& error) {
    body.add(kCode, token_of(error.code));
    body.add(kMessage, error.message);
    body.add(kDetails, error.details);
    if (error.retryable) body.add_number(kRetryable, *error.retryable ? 1 : 2);
    if (error.retry_after) body.add_number(kRetryAfter, number_of(*error.retry_after) + 1);
}

/// What is read of an outcome: a result unless it has a code.
struct OutcomeParts {
    core::ToolResult result;
    core::ResultExtras extras;
    bool has_extras = false, has_content = false;
    std::optional<ErrorCode> code;
    Error error;

    bool read_result(const FieldReader::Field& field);
    bool read_error(const FieldReader::Field& field);
    core::Outcome take();
};

bool OutcomeParts::read_result(const FieldReader::Field& field) {
    const std::uint64_t value = field.value();
    const auto add_to = [&](std::vector<std::string>& texts) {
        texts.emplace_back(field.bytes);
        return texts.size() <= kMostTexts;
    };
    has_extras = has_extras || (field.number >= kUnenforced && field.number <= kPresentation);
    switch (field.number) {
        case kContent:
            has_content = true;
            result.content = field.bytes;
            return true;
        case kKind:
            result.kind = static_cast<ContentKind>(value);
            return value <= static_cast<std::uint64_t>(ContentKind::kBytes);
        case kContentType: result.content_type = field.bytes; return true;
        case kLog: return add_to(result.logs);
        case kCpu: result.usage.cpu = Milliseconds(span_of(value)); return true;
        case kWall: result.usage.wall = Milliseconds(span_of(value)); return true;
        case kMemory: result.usage.peak_memory_bytes = value; return true;
        case kOutput: result.usage.output_bytes = value; return true;
        case kExit:
            if (value > 2 * kExitOffset) return false;
            result.usage.exit_status = static_cast<int>(value) - static_cast<int>(kExitOffset);
            return true;
        case kUnenforced: return add_to(extras.unenforced);
        case kPlace: extras.place = field.bytes; return true;
        case kPresentation: extras.presentation = field.bytes; return true;
        default: return true;
    }
}

bool OutcomeParts::read_error(const FieldReader::Field& field) {
    const std::uint64_t value = field.value();
    switch (field.number) {
        case kCode: code = find_error_code(field.bytes); return code.has_value();
        case kMessage: error.message = field.bytes; return true;
        case kDetails: error.details = field.bytes; return true;
        case kRetryable: error.retryable = value == 1; return value == 1 || value == 2;
        case kRetryAfter:
            if (value == 0) return false;
            error.retry_after = Milliseconds(span_of(value - 1));
            return true;
        default: return true;
    }
}

core::Outcome OutcomeParts::take() {
    if (code) {
        error.code = *code;
        return fail(std::move(error));
    }
    if (has_extras) result.extras = std::make_shared<const core::ResultExtras>(std::move(extras));
    return std::move(result);
}

/// What is read of an end beside its outcome.
struct EndParts {
    core::CallEnd end;
    std::string tool, source;
    core::AbsentClaims claims;
    bool left_no_trace = false;

    bool read(const FieldReader::Field& field);
};

bool EndParts::read(const FieldReader::Field& field) {
    const std::uint64_t value = field.value();
    switch (field.number) {
        case kNoTrace: left_no_trace = field.flag(); return true;
        case kDuration: end.duration = std::chrono::nanoseconds(span_of(value)); return true;
        case kReplayed: end.replayed = field.flag(); return true;
        case kToolName: tool = field.bytes; return true;
        case kToolSource: source = field.bytes; return true;
        case kSideEffects: claims.side_effects = field.flag(); return true;
        case kIdempotent: claims.idempotent = field.flag(); return true;
        case kAttempts:
            end.attempts = static_cast<std::uint32_t>(value);
            return value <= std::numeric_limits<std::uint32_t>::max();
        case kApproval: end.approval_id = field.bytes; return true;
        case kCancelledBy: end.cancelled_by = field.bytes; return true;
        default: return true;
    }
}

}  // namespace

std::string to_wire(const ResultHead& head, const core::CallEnd& end) {
    FieldWriter body;
    add_id(body, head.id);
    body.add_flag(kNoTrace, head.left_no_trace);
    if (*end.outcome)
        add_result(body, **end.outcome);
    else
        add_error(body, end.outcome->error());
    body.add_number(kDuration,
                    static_cast<std::uint64_t>(std::max<std::int64_t>(end.duration.count(), 0)));
    body.add_flag(kReplayed, end.replayed);
    if (end.tool) {
        body.add(kToolName, end.tool->unique_name);
        body.add(kToolSource, end.tool->source_text);
        body.add_flag(kSideEffects, end.tool->spec.side_effects);
        body.add_flag(kIdempotent, end.tool->spec.idempotent);
    }
    body.add_number(kAttempts, end.attempts);
    body.add(kApproval, end.approval_id);
    body.add(kCancelledBy, end.cancelled_by);
    return body.take();
}

Result<ReceivedResult> parse_result(std::string_view body) {
    OutcomeParts outcome;
    EndParts parts;
    bool well = true;
    const auto id = read_with_id(body, [&](const FieldReader::Field& field) {
        well = well && outcome.read_result(field) && outcome.read_error(field) && parts.read(field);
    });
    if (!id || !well) return unreadable("the result is broken");
    if (outcome.has_content == outcome.code.has_value())
        return unreadable("the result is neither a content nor an error");
    parts.end.outcome = std::make_shared<const core::Outcome>(outcome.take());
    if (!parts.tool.empty())
        parts.end.tool = core::absent_tool(parts.tool, parts.source, parts.claims);
    return ReceivedResult{.head = {.id = *id, .left_no_trace = parts.left_no_trace},
                          .end = std::move(parts.end)};
}

}  // namespace crab::fleet
