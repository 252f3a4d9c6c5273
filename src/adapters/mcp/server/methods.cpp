#include "adapters/mcp/server/methods.hpp"

#include "adapters/mcp/wire/capabilities.hpp"
#include "adapters/mcp/wire/error_form.hpp"
#include "adapters/mcp/wire/log_level.hpp"
#include "adapters/mcp/wire/message_writer.hpp"
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
    {"resources/read", kCall, kCall},
    {"resources/subscribe", kNow, kUnknown},
    {"resources/unsubscribe", kNow, kUnknown},
    {"prompts/list", kNow, kNow},
    {"prompts/get", kCall, kCall},
    {"completion/complete", kCall, kCall},
    {"subscriptions/listen", kUnknown, kListen},
    {"tasks/get", kUnknown, kTask},
    {"tasks/update", kUnknown, kTask},
    {"tasks/cancel", kUnknown, kTask},
};

constexpr Milliseconds kCursorKept{60 * 60 * 1000};
/// A page that has as much gets no further entry.
constexpr std::size_t kMostPageBytes = std::size_t{4} << 20;

}  // namespace

MethodKind kind_of(std::string_view method, Era era) {
    const auto* const row = std::ranges::find(kMethods, method, &MethodRow::name);
    if (row == std::end(kMethods)) return kUnknown;
    return era == Era::kModern ? row->modern : row->legacy;
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
    if (method == "resources/list") return list_resources(request, "resources");
    if (method == "resources/templates/list") return list_resources(request, "resourceTemplates");
    if (method == "resources/subscribe") return subscribe(request);
    if (method == "resources/unsubscribe") return unsubscribe(request);
    return list_prompts(request);
}

/// The configured text, and what upstreams say to callers who see something of theirs.
void Methods::add_instructions(std::string& object, const CatalogView& view,
                               const core::PrincipalRef& principal) {
    std::string text = lists_.scope().instructions;
    const auto tools = lists_.view_of(principal);
    for (const auto& [name, source] : *view.all) {
        if (source->instructions.empty() ||
            (!view.sees(*source) && !tools->sources.contains(source->source)))
            continue;
        if (!text.empty()) text += "\n\n";
        text += fmt::format("[{}] {}", name, source->instructions);
    }
    if (text.empty()) return;
    object.pop_back();
    object += R"(,"instructions":)";
    json::append_quoted(object, text);
    object += '}';
}

Reply Methods::discover(const ClientRequest& request) {
    const auto view = catalogs_.view_of(request.principal);
    std::string result = fmt::format(R"({{"supportedVersions":{},"capabilities":{}}})",
                                     state_.options.versions.to_json(),
                                     server_capabilities(request.revision, view->has_ui()));
    add_instructions(result, *view, request.principal);
    return Reply::of_plain(request, result, state_.options.list_ttl);
}

Reply Methods::opened(const ClientRequest& request) {
    const auto view = catalogs_.view_of(request.principal);
    std::string result =
        fmt::format(R"({{"protocolVersion":"{}","capabilities":{},"serverInfo":{}}})",
                    name_of(request.revision),
                    server_capabilities(request.revision, view->has_ui()), state_.server_info);
    add_instructions(result, *view, request.principal);
    return Reply::of_plain(request, result);
}

Reply Methods::set_level(const ClientRequest& request) {
    auto level = json::find_raw_string(request.params, "level").value_or("");
    if (std::ranges::find(kLogLevels, level) == kLogLevels.end())
        return Reply::invalid_params(request,
                                     fmt::format("level: one of {}", fmt::join(kLogLevels, ", ")));
    request.session->set_log_level(std::move(level));
    return Reply::of_plain(request, "{}");
}

std::string Methods::cursor_owner(const ClientRequest& request) const {
    return fmt::format("{}\n{}\n{}\n{}", request.principal->id, request.principal->tenant.text(),
                       request.method, lists_.scope().name);
}

/// A page of items, ascending by name; `append(out, item)` writes one, or nothing for one that is
/// left out. `meta`, an object, is `_meta` if it is not empty.
template <class Items, class Append>
Reply Methods::list_page(const ClientRequest& request, std::string_view member, const Items& items,
                         Append append, std::string_view meta) {
    std::string after;
    if (json::find_raw(request.params, "cursor")) {
        const auto cursor = read_name(request.params, "cursor", kMostCursorBytes);
        const auto opened =
            cursor ? state_.sealer.open(SealedFor::kCursor, cursor_owner(request), *cursor)
                   : std::nullopt;
        if (!opened)
            return Reply::invalid_params(request,
                                         "cursor: not one of this list, or too old: begin again");
        after = *opened;
    }
    auto item = after.empty()
                    ? items.begin()
                    : std::ranges::upper_bound(items, after, {}, &Items::value_type::name);
    Reply reply;
    std::string& result = reply.message;
    result.reserve(page_bytes_);
    append_opening(result, request.id);
    result.append(R"({")").append(member).append(R"(":[)");
    std::size_t listed = 0;
    for (; item != items.end() && listed < state_.options.page; ++item) {
        const std::size_t before = result.size();
        if (listed > 0 && before >= kMostPageBytes) break;
        if (listed > 0) result += ',';
        const std::size_t from = result.size();
        append(result, *item);
        if (result.size() == from) {
            result.resize(before);
        } else {
            ++listed;
        }
    }
    result += ']';
    if (item != items.end()) {
        result += R"(,"nextCursor":)";
        json::append_quoted(result, state_.sealer.seal(SealedFor::kCursor, cursor_owner(request),
                                                       std::prev(item)->name, kCursorKept));
    }
    ResultForm form = request.form(meta);
    form.ttl = state_.options.list_ttl;
    end_own_result(result, form);
    result += '}';
    page_bytes_ = std::min(result.size() + result.size() / 8, kMostPageBytes);
    return reply;
}

/// A list that shows a search says in `_meta` what it stands for.
Reply Methods::list_tools(const ClientRequest& request) {
    const auto view = lists_.view_of(request.principal);
    std::string meta;
    if (view->searched)
        meta = fmt::format(R"({{"crab/search":{{"tools":{},"tokens":{}}}}})",
                           lists_.catalog(*view)->entries.size(), view->all_tokens);
    const auto catalogs = catalogs_.view_of(request.principal);
    return list_page(
        request, "tools", view->items,
        [&](std::string& out, const ToolView::Item& item) {
            const std::string_view entry = lists_.entry(item, request.revision);
            if (item.tool->spec.front_members.contains("esourceUri")) {
                out += map_tool_uris(entry, known_page(request, *catalogs, item.tool->source.name));
            } else {
                out += entry;
            }
        },
        meta);
}

/// The page of a tool (MCP Apps) under the URI that this client knows; one that no list has is read
/// from the tool's source.
MapUri Methods::known_page(const ClientRequest& request, const CatalogView& catalogs,
                           const std::string& source) {
    return [this, &request, &catalogs, source](const std::string& uri) {
        if (catalogs.find_readable(source) == nullptr) return uri;
        std::string known = catalogs.known_uri(source, uri);
        if (known == uri) state_.links.remember(request.principal->id, uri, source);
        return known;
    };
}

Reply Methods::list_resources(const ClientRequest& request, std::string_view member) {
    const auto view = catalogs_.view_of(request.principal);
    const bool templates = member == "resourceTemplates";
    return list_page(request, member, templates ? view->templates : view->resources,
                     [&](std::string& out, const CatalogView::Item& item) {
                         CatalogLists::append_entry(out, item, templates ? "uriTemplate" : "uri",
                                                    request.revision);
                     });
}

Reply Methods::list_prompts(const ClientRequest& request) {
    const auto view = catalogs_.view_of(request.principal);
    return list_page(request, "prompts", view->prompts,
                     [&](std::string& out, const CatalogView::Item& item) {
                         CatalogLists::append_entry(out, item, "name", request.revision);
                     });
}

Reply Methods::subscribe(const ClientRequest& request) {
    const auto uri = read_name(request.params, "uri");
    if (!uri) return Reply::invalid_params(request, uri.error());
    const auto view = catalogs_.view_of(request.principal);
    MatchBudget budget;
    const auto target = view->find_resource(*uri, {}, budget);
    if (!target && !target.error().empty()) return Reply::invalid_params(request, target.error());
    const auto may_read = catalogs_.may_use(*request.principal, kReadTool);
    if (!target || !target->exists(budget) || !may_read(*target->source, target->key))
        return Reply::of_error(
            request, resource_not_found(*uri, "there is no such resource", request.revision));
    if (!target->source->watchable)
        return Reply::invalid_params(
            request, "uri: this resource cannot be watched, for its server does not tell changes");
    // the callback must not hold the session: its last owner could be the one that is called
    const auto updated = [stream = request.session->shared_events(), uri = *uri] {
        std::string params, message;
        json::Writer(params).begin_object().key("uri").string(uri).end_object();
        append_notification(message, "notifications/resources/updated", params);
        stream->add_if_read(message);
    };
    HeldBytes bytes(state_.watched.of(request.principal->id));
    if (!bytes.grow_to(bytes_of_watch(*uri)))
        return Reply::invalid_params(request, "uri: you watch too many resources");
    auto handle =
        watches_.watch(target->source->source, target->key, request.principal->id, updated);
    if (!handle)
        return Reply::invalid_params(
            request,
            fmt::format("uri: too many resources of {} are watched", target->source->source));
    if (!request.session->watch(*uri, {std::move(bytes), std::move(*handle)}))
        return Reply::invalid_params(request, "uri: this session watches too many resources");
    return Reply::of_plain(request, "{}");
}

Reply Methods::unsubscribe(const ClientRequest& request) {
    const auto uri = read_name(request.params, "uri");
    if (!uri) return Reply::invalid_params(request, uri.error());
    request.session->unwatch(*uri);
    return Reply::of_plain(request, "{}");
}

}  // namespace crab::mcp
