#include "adapters/mcp/server/methods.hpp"

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace crab::mcp {
namespace {

using enum MethodKind;

struct MethodRow {
    std::string_view name;
    MethodKind legacy = kUnknown, modern = kUnknown;
};
constexpr MethodRow kMethods[] = {
    {"initialize", kOpening, kUnknown},
    {"server/discover", kUnknown, kNow},
    {"ping", kNow, kUnknown},
    {"logging/setLevel", kNow, kUnknown},
    {"tools/list", kNow, kNow},
    {"tools/call", kCall, kCall},
    {"resources/list", kNow, kNow},
    {"resources/templates/list", kNow, kNow},
    {"resources/read", kNow, kNow},
    {"resources/subscribe", kNow, kUnknown},
    {"resources/unsubscribe", kNow, kUnknown},
    {"prompts/list", kNow, kNow},
    {"prompts/get", kNow, kNow},
    {"completion/complete", kNow, kNow},
    {"subscriptions/listen", kUnknown, kListen},
};

constexpr std::array<std::string_view, 8> kLevels = {"debug", "info",     "notice", "warning",
                                                     "error", "critical", "alert",  "emergency"};
constexpr Milliseconds kCursorKept{60 * 60 * 1000};

}  // namespace

MethodKind kind_of(std::string_view method, Era era) {
    const auto* const row = std::ranges::find(kMethods, method, &MethodRow::name);
    if (row == std::end(kMethods)) return kUnknown;
    return era == Era::kModern ? row->modern : row->legacy;
}

/// Without the extensions, which nothing here speaks yet.
std::string declared_capabilities(Revision revision) {
    const std::string all = server_capabilities(revision, false);
    std::string out;
    json::Writer writer(out);
    writer.begin_object();
    for (json::RawParts parts(all); parts.next();) {
        if (parts.name() != "extensions") writer.key(parts.name()).raw(parts.value());
    }
    writer.end_object();
    return out;
}

Reply Methods::unknown_method(const ClientRequest& request) {
    return Reply::of_error(
        request, {.code = rpc_code::kMethodNotFound,
                  .message = fmt::format("there is no method {} in version {}", request.method,
                                         name_of(request.revision)),
                  .data = {}});
}

Reply Methods::answer(const ClientRequest& request) {
    const std::string_view method = request.method;
    if (method == "server/discover") return discover(request);
    if (method == "ping") return Reply::of_plain(request, "{}");
    if (method == "logging/setLevel") return set_level(request);
    if (method == "tools/list") return list_tools(request);
    if (method == "resources/list") return empty_list(request, "resources");
    if (method == "resources/templates/list") return empty_list(request, "resourceTemplates");
    if (method == "prompts/list") return empty_list(request, "prompts");
    return not_there(request);
}

void Methods::add_instructions(std::string& object) const {
    if (state_.options.instructions.empty()) return;
    object.pop_back();
    object += R"(,"instructions":)";
    json::append_quoted(object, state_.options.instructions);
    object += '}';
}

Reply Methods::discover(const ClientRequest& request) {
    std::string result =
        fmt::format(R"({{"supportedVersions":{},"capabilities":{}}})",
                    state_.options.versions.to_json(), declared_capabilities(request.revision));
    add_instructions(result);
    return Reply::of_plain(request, result, state_.options.list_ttl);
}

Reply Methods::opened(const ClientRequest& request) {
    std::string result = fmt::format(
        R"({{"protocolVersion":"{}","capabilities":{},"serverInfo":{}}})",
        name_of(request.revision), declared_capabilities(request.revision), state_.server_info);
    add_instructions(result);
    return Reply::of_plain(request, result);
}

Reply Methods::set_level(const ClientRequest& request) {
    auto level = json::find_raw_string(request.params, "level").value_or("");
    if (std::ranges::find(kLevels, level) == kLevels.end())
        return Reply::invalid_params(request,
                                     fmt::format("level: one of {}", fmt::join(kLevels, ", ")));
    request.session->set_log_level(std::move(level));
    return Reply::of_plain(request, "{}");
}

std::string Methods::cursor_owner(const ClientRequest& request) const {
    return fmt::format("{}\n{}\n{}", request.principal->id, request.principal->tenant.text(),
                       request.method);
}

Reply Methods::list_tools(const ClientRequest& request) {
    std::string after;
    if (json::find_raw(request.params, "cursor")) {
        const auto cursor = json::find_raw_string(request.params, "cursor");
        const auto opened =
            cursor ? state_.sealer.open(SealedFor::kCursor, cursor_owner(request), *cursor)
                   : std::nullopt;
        if (!opened)
            return Reply::invalid_params(request,
                                         "cursor: not one of this list, or too old: begin again");
        after = *opened;
    }
    const auto view = lists_.view_of(request.principal);
    const auto& items = view->items;
    auto item = after.empty() ? items.begin()
                              : std::ranges::upper_bound(items, after, {}, &ToolView::Item::name);
    std::string result = R"({"tools":[)";
    std::size_t listed = 0;
    for (; item != items.end() && listed < state_.options.page; ++item) {
        const std::string_view entry = lists_.entry(*item, request.revision);
        if (entry.empty()) continue;
        if (listed++ > 0) result += ',';
        result += entry;
    }
    result += ']';
    if (item != items.end()) {
        result += R"(,"nextCursor":)";
        json::append_quoted(result, state_.sealer.seal(SealedFor::kCursor, cursor_owner(request),
                                                       std::prev(item)->name, kCursorKept));
    }
    result += '}';
    return Reply::of_plain(request, result, state_.options.list_ttl);
}

Reply Methods::empty_list(const ClientRequest& request, std::string_view member) {
    if (json::find_raw(request.params, "cursor"))
        return Reply::invalid_params(request, "cursor: this list has one page");
    return Reply::of_plain(request, fmt::format(R"({{"{}":[]}})", member), state_.options.list_ttl);
}

Reply Methods::not_there(const ClientRequest& request) {
    const std::string_view method = request.method;
    const auto text = [&](std::string_view name) {
        return json::find_raw_string(request.params, name);
    };
    if (method == "prompts/get") {
        const auto name = text("name");
        return Reply::invalid_params(
            request, name ? fmt::format("there is no prompt {}", *name) : "name: a string");
    }
    if (method == "completion/complete")
        return Reply::invalid_params(request, "ref: there is no such prompt or resource");
    const auto uri = text("uri");
    if (!uri) return Reply::invalid_params(request, "uri: a string");
    return Reply::of_error(request,
                           resource_not_found(*uri, "there is no such resource", request.revision));
}

}  // namespace crab::mcp
