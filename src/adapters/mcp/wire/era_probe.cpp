#include "adapters/mcp/wire/era_probe.hpp"

#include "json/raw_parts.hpp"

#include <string>
#include <vector>

namespace crab::mcp {
namespace {

/// By the versions that the upstream lists in `member` of `object`.
ProbeConclusion by_versions(std::string_view object, std::string_view member,
                            const RevisionSet& enabled) {
    std::vector<std::string> names;
    for (json::RawParts items(json::find_raw(object, member).value_or("")); items.next();)
        names.push_back(json::read_raw_string(items.value()).value_or(""));
    const std::vector<std::string_view> theirs(names.begin(), names.end());
    const auto common = enabled.newest_common(theirs);
    if (!common) return {.end = ProbeEnd::kUnusable, .revision = {}};
    if (era_of(*common) == Era::kLegacy) return {.end = ProbeEnd::kLegacy, .revision = {}};
    return {.end = ProbeEnd::kModern, .revision = common};
}

std::optional<ProbeConclusion> by_message(const Message& message, const RevisionSet& enabled) {
    if (message.kind == Message::Kind::kResult) {
        if (!json::find_raw(message.result, "supportedVersions")) return std::nullopt;
        return by_versions(message.result, "supportedVersions", enabled);
    }
    if (message.kind != Message::Kind::kError) return std::nullopt;
    switch (message.error.code) {
        case rpc_code::kUnsupportedVersion:
            return by_versions(message.error.data, "supported", enabled);
        case rpc_code::kHeaderMismatch:
        case rpc_code::kMissingClientCapability: {
            const auto revision = enabled.newest(Era::kModern);
            return ProbeConclusion{revision ? ProbeEnd::kModern : ProbeEnd::kUnusable, revision};
        }
        default: return std::nullopt;
    }
}

bool says_nothing(int http_status) {
    return http_status >= 500 || http_status == 408 || http_status == 429;
}

}  // namespace

ProbeConclusion conclude(const ProbeAnswer& answer, const RevisionSet& enabled) {
    switch (answer.kind) {
        case ProbeAnswer::Kind::kSilence: return {.end = ProbeEnd::kLegacy, .revision = {}};
        case ProbeAnswer::Kind::kExit: return {.end = ProbeEnd::kLegacyNewChild, .revision = {}};
        case ProbeAnswer::Kind::kNoAnswer: return {};
        case ProbeAnswer::Kind::kMessage:
        case ProbeAnswer::Kind::kOther: break;
    }
    if (answer.http_status == 401 || answer.http_status == 403)
        return {.end = ProbeEnd::kAuthorizeFirst, .revision = {}};
    if (says_nothing(answer.http_status)) return {};
    if (answer.kind == ProbeAnswer::Kind::kMessage && answer.message != nullptr) {
        if (const auto concluded = by_message(*answer.message, enabled)) return *concluded;
    }
    return {.end = ProbeEnd::kLegacy, .revision = {}};
}

}  // namespace crab::mcp
