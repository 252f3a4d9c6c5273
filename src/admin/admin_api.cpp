#include "admin/admin_api.hpp"

#include "admin/device_list.hpp"
#include "admin/metrics_answer.hpp"
#include "admin/pairing_wire.hpp"
#include "admin/query_number.hpp"
#include "admin/running_wire.hpp"
#include "base/encoding.hpp"
#include "core/audit/call_record.hpp"
#include "json/raw_parts.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"
#include "net/codec/qr_code.hpp"
#include "net/codec/url.hpp"
#include "net/http/http_error.hpp"

#include <algorithm>
#include <functional>
#include <set>
#include <string>

#include <unistd.h>

#include <fmt/format.h>

namespace crab::admin {
namespace {

void append_reach(json::Writer& writer, const Gateway::ClientAddresses& reach) {
    if (!reach.url.empty())
        writer.key("gateway").string(reach.url).key("only_here").boolean(reach.only_here);
    if (!reach.ca_file.empty()) writer.key("ca_file").string_lossy(reach.ca_file);
}

}  // namespace

void AdminApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add(
        {.path = "/metrics",
         .summary = "Metrics in the text format of Prometheus, or OpenMetrics",
         .headers = {metrics_header()},
         .answers = metrics_answers()},
        [this](const Request& request) { answer_metrics(request.exchange, services_.metrics); });
    routes.add({.path = "/v1/admin/status",
                .summary = "What runs here, and how it is",
                .answers = {{200, "gateway_status"}}},
               [this](const Request& request) { status(request.exchange); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/reload",
                .summary = "Read the configuration again; all of it or nothing",
                .answers = {{200, "reloaded"}},
                .refusals = {400, 500, 503}},
               [this](const Request& request) { return reload(request.exchange); });
    add_call_routes(routes);
    add_device_routes(routes);
}

void AdminApi::add_call_routes(net::Routes<core::PrincipalRef>& routes) {
    routes.add({.path = "/v1/admin/calls",
                .summary = "Calls that run, and the latest that have ended",
                .query = {{"limit", "how many of these; at most 1000"}},
                .answers = {{200, "call_list"}},
                .refusals = {400}},
               [this](const Request& request) { return calls(request.exchange); });
    routes.add({.path = "/v1/admin/calls/{call_id}",
                .summary = "One call, and what became of it",
                .answers = {{200, "known_call"}},
                .refusals = {404}},
               [this](const Request& request) {
                   return call(request.exchange, request.arguments["call_id"]);
               });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/calls/{call_id}/cancel",
                .proof = net::FreshProof::kNever,
                .summary = "Cancel a call",
                .answers = {{200, "call_cancelled"}}},
               [this](const Request& request) {
                   cancel(request.exchange, *request.principal, request.arguments["call_id"]);
               });
}

void AdminApi::add_device_routes(net::Routes<core::PrincipalRef>& routes) {
    using net::Method;
    routes.add({.path = "/v1/admin/devices",
                .summary = "Devices and callers, and their tokens",
                .answers = {{200, "device_list"}}},
               [this](const Request& request) { devices(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = "/v1/admin/devices/pair",
                .proof = net::FreshProof::kForOperators,
                .summary = "A pairing code, or a token, for a device or a caller",
                .request = "device_pairing",
                .answers = {{200, "device_credential"}},
                .refusals = {400, 404, 409, 429, 503}},
               [this](const Request& request) { return pair(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = "/v1/admin/devices/vouch",
                .proof = net::FreshProof::kNever,
                .summary = "Say that the device with this key may use a pairing code",
                .request = "device_voucher",
                .answers = {{200, "device_vouched"}},
                .refusals = {400, 404, 409, 503}},
               [this](const Request& request) { return vouch(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = "/v1/admin/devices/revoke",
                .summary = "Revoke a token, or all of a device",
                .request = "device_revocation",
                .answers = {{200, "device_revoked"}},
                .refusals = {400, 404, 503}},
               [this](const Request& request) { return revoke(request.exchange); });
    routes.add({.method = Method::kPost,
                .path = "/v1/admin/devices/approve",
                .proof = net::FreshProof::kNever,
                .summary = "Approve tools of a device that wait for it",
                .request = "device_tool_approval",
                .answers = {{200, "device_tools_approved"}},
                .refusals = {400, 404, 503}},
               [this](const Request& request) { return approve_tools(request.exchange); });
}

Task<void> AdminApi::reload(net::HttpExchange& exchange) {
    auto reload = [this] { return gateway_.reload(); };
    if (const auto reloaded = co_await services_.pool.run(std::move(reload)); reloaded) {
        exchange.respond(200, net::kJsonType, R"({"reloaded":true})");
    } else {
        exchange.respond_error(reloaded.error());
    }
}

Task<void> AdminApi::calls(net::HttpExchange& exchange) {
    constexpr std::size_t kMost = 1000;
    const auto wanted = number_in(exchange.request().query(), "limit", 20);
    if (!wanted)
        co_return exchange.respond_error(
            {.code = ErrorCode::kInvalidArgs, .message = "`limit` is a whole number"});
    const std::size_t limit = std::min(*wanted, kMost);
    const auto recent = co_await services_.audit.latest(limit * 2);
    std::string& out = exchange.begin_response(200, net::kJsonType);
    json::Writer writer(out);
    writer.begin_object().key("running").begin_array();
    std::set<std::string, std::less<>> told;
    for (const auto& running : gateway_.running()) {
        append_running(writer, running);
        told.insert(running.call_id);
    }
    writer.end_array().key("recent").begin_array();
    std::size_t shown = 0;
    for (const std::string& record : recent) {
        if (shown == limit) break;
        if (!record.starts_with(R"({"call_id":)"))
            continue;  // registrations and pairings are recorded there too
        const auto id = json::find_raw_string(record, "call_id");
        // what was recorded before it ran says less, unless there is nothing else
        const bool is_known = id && !told.insert(*id).second;
        if (is_known && core::is_begin_record(record)) continue;
        writer.raw(record);
        ++shown;
    }
    writer.end_array().end_object();
    exchange.finish_response();
}

Task<void> AdminApi::call(net::HttpExchange& exchange, std::string id) {
    for (const auto& running : gateway_.running()) {
        if (running.call_id != id) continue;
        std::string& out = exchange.begin_response(200, net::kJsonType);
        json::Writer writer(out);
        append_running(writer, running);
        exchange.finish_response();
        co_return;
    }
    const auto record = co_await services_.audit.find_call(id);
    if (record) {
        exchange.respond(200, net::kJsonType, *record);
    } else {
        exchange.respond_error(
            404, "NOT_FOUND",
            "no call with this id is running or in the audit log of the last 7 days");
    }
}

void AdminApi::cancel(net::HttpExchange& exchange, const core::Principal& principal,
                      std::string id) {
    const bool found = gateway_.cancel(principal, id) > 0;
    exchange.respond(200, net::kJsonType,
                     found ? R"({"status":"cancelling"})" : R"({"status":"not_found"})");
}

void AdminApi::devices(net::HttpExchange& exchange) {
    DeviceList list;
    for (const auto& record : services_.tokens.devices()) list.add_device(record);
    for (const auto& token : services_.tokens.list()) list.add_token(token);
    for (const auto& live : gateway_.presence()) list.add_live(live);
    if (gateway_.waiting_tools) list.add_waiting(gateway_.waiting_tools);
    list.write(exchange.begin_response(200, net::kJsonType));
    exchange.finish_response();
}

Task<void> AdminApi::approve_tools(net::HttpExchange& exchange) {
    const auto root = parser_.parse(exchange.request().body);
    const auto device = root ? json::get_string(root->element(), "device") : std::nullopt;
    if (!device) {
        exchange.respond_error(400, "INVALID_ARGS",
                               "the body must be a JSON object with `device`, and perhaps `tools`");
        co_return;
    }
    std::vector<std::string> names;
    if (const auto list = json::get_array(root->element(), "tools")) {
        for (const json::Element item : *list) {
            std::string_view name;
            if (item.get(name) == simdjson::SUCCESS) names.emplace_back(name);
        }
    }
    exchange.keep_running_when_caller_leaves();
    auto work = [this, device = std::string(*device), names = std::move(names)] {
        return gateway_.approve_tools(device, names);
    };
    const auto approved = co_await services_.pool.run(std::move(work));
    if (!approved) {
        exchange.respond_error(approved.error());
        co_return;
    }
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("approved").begin_array();
    for (const std::string& name : *approved) writer.string(name);
    writer.end_array().end_object();
    exchange.finish_response();
}

Task<void> AdminApi::pair(net::HttpExchange& exchange) {
    const std::string_view body =
        exchange.request().body.empty() ? std::string_view("{}") : exchange.request().body;
    const auto root = parser_.parse(body);
    if (!root || !root->element().is_object()) {
        exchange.respond_error(400, "INVALID_ARGS", "the body must be a JSON object");
        co_return;
    }
    auto offer = read_pairing_offer(root->element(), gateway_.token_lifetime);
    if (!offer) co_return exchange.respond_error(offer.error());
    if (json::get_bool(root->element(), "token").value_or(false)) {
        co_await issue_token(exchange, std::move(*offer));
    } else if (json::get_bool(root->element(), "console").value_or(false)) {
        co_await open_console_code(exchange, std::move(*offer));
    } else {
        co_await open_code(exchange, std::move(*offer), gateway_.device_pages);
    }
}

/// For a person's browser, whose key signs in to the console. The roles are named: what an operator
/// may be given has to be said by whoever gives it.
Task<void> AdminApi::open_console_code(net::HttpExchange& exchange, trust::PairingOffer offer) {
    if (offer.roles.has(core::Role::kDevice))
        co_return exchange.respond_error(
            400, "INVALID_ARGS", "roles: a browser of the console is no device; name its roles");
    if (!gateway_.console_is_open())
        co_return exchange.respond_error(
            409, "CONFLICT", "the console is open to nobody from elsewhere: set listen.console");
    co_await open_code(exchange, std::move(offer), gateway_.console_pages);
}

/// For an operator who carries the token itself to the device.
Task<void> AdminApi::issue_token(net::HttpExchange& exchange, trust::PairingOffer offer) {
    auto issue = [&tokens = services_.tokens,
                  wanted = trust::IssueRequest{
                      .name = offer.name.empty() ? std::string("Device") : offer.name,
                      .roles = offer.roles,
                      .tenants = offer.tenants,
                      .lifetime = offer.lifetime,
                      .device = offer.device}] { return tokens.issue(wanted); };
    const auto issued = co_await services_.pool.run(std::move(issue));
    if (!issued) co_return exchange.respond_error(issued.error());
    std::string& out =
        exchange.begin_response(200, net::kJsonType, {{"Cache-Control", "no-store"}});
    json::Writer writer(out);
    writer.begin_object()
        .key("token")
        .string(issued->token.reveal())
        .key("device")
        .string(issued->slug)
        .key("token_id")
        .string(issued->record.id);
    if (issued->record.expires_at)
        writer.key("expires_at").string(to_rfc3339(*issued->record.expires_at));
    append_roles(writer, issued->record.roles);
    append_reach(writer, gateway_.reach);
    writer.end_object();
    exchange.finish_response();
}

/// Where a browser takes the code, best first; each with its QR code, which is not drawn where
/// whoever scans it would get nowhere, or in clear.
void AdminApi::append_pages(json::Writer& writer, std::string_view code,
                            const std::vector<Gateway::Page>& pages) const {
    const auto address = [&](const Gateway::Page& page) {
        return fmt::format("{}#pair={}", page.url, code);
    };
    const auto append_rows = [&](const Gateway::Page& page) {
        const auto picture =
            page.can_be_scanned() ? net::QrCode::encode(address(page)) : std::nullopt;
        writer.key("qr").begin_array();
        if (picture)
            for (const std::string& row : picture->to_rows()) writer.string(row);
        writer.end_array();
    };
    if (!pages.empty()) {
        writer.key("page").string(address(pages.front()));
        append_rows(pages.front());
    }
    writer.key("pages").begin_array();
    for (const Gateway::Page& page : pages) {
        writer.begin_object().key("url").string(address(page));
        writer.key("reach").string(page.reach).key("tls").boolean(page.tls);
        append_rows(page);
        writer.end_object();
    }
    writer.end_array();
}

/// For a device, or a browser, that redeems the code at `POST /pair`.
Task<void> AdminApi::open_code(net::HttpExchange& exchange, trust::PairingOffer offer,
                               const std::vector<Gateway::Page>& pages) {
    const core::Roles roles = offer.roles;
    auto work = [&codes = services_.codes, offer = std::move(offer)] { return codes.open(offer); };
    const auto code =
        services_.codes.block() ? co_await services_.pool.run(std::move(work)) : work();
    if (!code) co_return exchange.respond_error(code.error());
    std::string& out =
        exchange.begin_response(200, net::kJsonType, {{"Cache-Control", "no-store"}});
    json::Writer writer(out);
    writer.begin_object()
        .key("id")
        .string(code->id)
        .key("code")
        .string(code->code.reveal())
        .key("expires_at")
        .string(to_rfc3339(code->expires_at));
    append_roles(writer, roles);
    append_reach(writer, gateway_.reach);
    append_pages(writer, code->code.reveal(), pages);
    writer.end_object();
    exchange.finish_response();
}

/// `{"code","public_key"}`, base64 of DER as in `POST /pair`: whoever may ask here says that this
/// device is theirs.
Task<void> AdminApi::vouch(net::HttpExchange& exchange) {
    const auto root = parser_.parse(exchange.request().body);
    const auto code = root ? json::get_string(root->element(), "code") : std::nullopt;
    const auto text = root ? json::get_string(root->element(), "public_key") : std::nullopt;
    auto key = text ? from_base64(*text) : std::nullopt;
    if (!code || !key || key->empty())
        co_return exchange.respond_error(
            400, "INVALID_ARGS",
            "the body must be a JSON object with `code` and `public_key`, in base64");
    auto work = [&codes = services_.codes, code = std::string(*code), key = std::move(*key)] {
        return codes.vouch(code, key);
    };
    const auto vouched =
        services_.codes.block() ? co_await services_.pool.run(std::move(work)) : work();
    if (!vouched) co_return exchange.respond_error(vouched.error());
    exchange.respond(200, net::kJsonType, R"({"vouched":true})");
}

Task<void> AdminApi::revoke(net::HttpExchange& exchange) {
    const auto root = parser_.parse(exchange.request().body);
    const auto device = root ? json::get_string(root->element(), "device") : std::nullopt;
    const auto token = root ? json::get_string(root->element(), "token_id") : std::nullopt;
    if (!device && !token) {
        exchange.respond_error(400, "INVALID_ARGS", "name a device or a token_id");
        co_return;
    }
    auto work = [&tokens = services_.tokens, by_id = !device,
                 id = std::string(device ? *device : *token)] {
        return by_id ? tokens.revoke_token(id) : tokens.revoke(id);
    };
    const auto revoked = co_await services_.pool.run(std::move(work));
    if (revoked) {
        exchange.respond(200, net::kJsonType, fmt::format(R"({{"revoked":{}}})", *revoked));
    } else {
        exchange.respond_error(revoked.error());
    }
}

void AdminApi::status(net::HttpExchange& exchange) {
    append_status(exchange.begin_response(200, net::kJsonType),
                  exchange.loop().clock().steady_now());
    exchange.finish_response();
}

void AdminApi::append_status(std::string& out, SteadyTime now) const {
    const auto uptime =
        std::chrono::duration_cast<std::chrono::seconds>(now - gateway_.started).count();
    std::size_t tools = 0;
    const auto presence = gateway_.presence();
    for (const auto& live : presence) tools += live.tools;
    json::Writer writer(out);
    writer.begin_object()
        .key("version")
        .string(gateway_.version)
        .key("pid")
        .integer(::getpid())
        .key("uptime_seconds")
        .integer(uptime)
        .key("public")
        .string(gateway_.public_endpoint);
    writer.key("admin")
        .string(gateway_.admin_socket)
        .key("state_dir")
        .string(gateway_.state_dir)
        .key("devices")
        .unsigned_integer(presence.size());
    append_reach(writer, gateway_.reach);
    if (!gateway_.reach.peers.empty()) writer.key("peers").string(gateway_.reach.peers);
    writer.key("tools")
        .unsigned_integer(tools)
        .key("running_calls")
        .unsigned_integer(gateway_.running_count());
    writer.key("audit")
        .begin_object()
        .key("backlog_bytes")
        .unsigned_integer(services_.audit.backlog_bytes())
        .key("lost_records")
        .unsigned_integer(services_.audit.lost())
        .end_object();
    const auto unhealthy = gateway_.unhealthy();
    writer.key("storage").string(unhealthy.empty() ? "ok" : "failing");
    writer.key("unhealthy").begin_array();
    for (const auto& [component, reason] : unhealthy)
        writer.begin_object()
            .key("component")
            .string(component)
            .key("reason")
            .string(reason)
            .end_object();
    writer.end_array().end_object();
}

}  // namespace crab::admin
