#include "adapters/mcp/wire/upstream_error.hpp"

#include "adapters/mcp/wire/shown_url.hpp"
#include "json/raw_parts.hpp"

#include <fmt/format.h>

#include <utility>

namespace crab::mcp {
namespace {

// Codes of the transport and of servers' own inventions, which mean nothing to another client.
constexpr std::int64_t kServerErrorFirst = -32019;
constexpr std::int64_t kServerErrorLast = -32000;

/// The names of the capabilities that a -32021 asks for, joined.
std::string capabilities_of(const RpcError& error) {
    std::string names;
    const auto required = json::find_raw(error.data, "requiredCapabilities").value_or("{}");
    for (json::RawParts parts(required); parts.next();) {
        if (!names.empty()) names += ", ";
        names += parts.name();
    }
    return names.empty() ? "a capability" : names;
}

/// The URLs of a -32042, a line each.
std::string urls_of(const RpcError& error) {
    std::string lines;
    const auto all = json::find_raw(error.data, "elicitations").value_or("[]");
    for (json::RawParts items(all); items.next();) {
        if (const auto url = json::find_raw_string(items.value(), "url")) lines += "\n" + *url;
    }
    return lines;
}

/// Whether all that it would have a person open may be shown.
bool has_good_urls(const RpcError& error) {
    const auto all = json::find_raw(error.data, "elicitations").value_or("[]");
    for (json::RawParts items(all); items.next();) {
        const auto url = json::find_raw_string(items.value(), "url");
        if (url && !is_shown_url(*url)) return false;
    }
    return true;
}

BridgedError missing_capability(RpcError error, const ErrorContext& context) {
    if (era_of(context.client) == Era::kModern) {
        const auto use =
            context.client_has_capability ? UpstreamErrorUse::kOwn : UpstreamErrorUse::kPass;
        return {.use = use, .error = std::move(error), .text = {}};
    }
    std::string text =
        fmt::format("The tool needs a client with {}, and this one does not say that it has it.",
                    capabilities_of(error));
    return {
        .use = UpstreamErrorUse::kErrorResult, .error = std::move(error), .text = std::move(text)};
}

BridgedError needs_urls(RpcError error, const ErrorContext& context) {
    if (!has_good_urls(error))
        return {.use = UpstreamErrorUse::kOwn, .error = std::move(error), .text = {}};
    if (context.client == Revision::k2025_11_25)
        return {.use = UpstreamErrorUse::kPass, .error = std::move(error), .text = {}};
    const auto use = era_of(context.client) == Era::kModern ? UpstreamErrorUse::kAskForUrls
                                                            : UpstreamErrorUse::kErrorResult;
    std::string text =
        fmt::format("{}\nOpen this first, then call again:{}", error.message, urls_of(error));
    return {.use = use, .error = std::move(error), .text = std::move(text)};
}

/// Whether it says that a resource is not there: with a code of its own in legacy revisions, with
/// the URI in modern ones, whose code has other meanings, too.
bool is_resource_not_found(const RpcError& error, const ErrorContext& context) {
    if (error.code == rpc_code::kResourceNotFound) return true;
    return error.code == rpc_code::kInvalidParams && context.upstream == Era::kModern &&
           context.method == "resources/read" && json::find_raw(error.data, "uri").has_value();
}

bool is_own_code(std::int64_t code) {
    switch (code) {
        case rpc_code::kHeaderMismatch:
        case rpc_code::kUnsupportedVersion:
        case rpc_code::kParseError:
        case rpc_code::kInvalidRequest:
        case rpc_code::kMethodNotFound: return true;
        default: return code >= kServerErrorFirst && code <= kServerErrorLast;
    }
}

}  // namespace

BridgedError bridge_error(RpcError error, const ErrorContext& context) {
    if (is_resource_not_found(error, context)) {
        error.code = features_of(context.client).resource_not_found;
        return {.use = UpstreamErrorUse::kPass, .error = std::move(error), .text = {}};
    }
    if (error.code == rpc_code::kMissingClientCapability)
        return missing_capability(std::move(error), context);
    if (error.code == rpc_code::kUrlElicitationRequired)
        return needs_urls(std::move(error), context);
    const auto use = is_own_code(error.code) ? UpstreamErrorUse::kOwn : UpstreamErrorUse::kPass;
    return {.use = use, .error = std::move(error), .text = {}};
}

}  // namespace crab::mcp
