#include "admin/push_api.hpp"

#include "base/base64url.hpp"
#include "json/value.hpp"
#include "json/writer.hpp"
#include "net/codec/http_text.hpp"

#include <utility>

namespace crab::admin {
namespace {

void append_subscription(json::Writer& writer, const push::Subscription& subscription,
                         std::string_view asker) {
    const auto url = net::HttpUrl::parse(subscription.endpoint);
    writer.begin_object().key("id").string(subscription.id);
    writer.key("principal").string_lossy(subscription.principal);
    writer.key("service").string(url ? url->origin() : "");  // the rest is a secret
    writer.key("created_at").string(to_rfc3339(subscription.created_at));
    writer.key("yours").boolean(subscription.principal == asker).end_object();
}

std::string decoded(const json::Value* keys, std::string_view name) {
    const std::string* const text = keys != nullptr ? keys->find_string(name) : nullptr;
    return text != nullptr ? from_base64url(*text).value_or("") : std::string();
}

}  // namespace

void PushApi::add_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    routes.add({.path = "/v1/admin/push/key",
                .summary = "The key with which browsers subscribe to be told of questions",
                .answers = {{200, "push_key"}}},
               [this](const Request& request) { show_key(request.exchange); });
    routes.add({.path = "/v1/admin/push/subscriptions",
                .summary = "The browsers that are told of questions",
                .answers = {{200, "push_subscription_list"}}},
               [this](const Request& request) { list(request.exchange, *request.principal); });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/push/subscriptions",
                .summary = "Have this browser told of questions",
                .request = "push_subscription_addition",
                .answers = {{201, "push_subscription"}},
                .refusals = {400, 403, 409, 503}},
               [this](const Request& request) { return add(request.exchange, request.principal); });
    routes.add({.method = net::Method::kDelete,
                .path = "/v1/admin/push/subscriptions/{id}",
                .proof = net::FreshProof::kNever,
                .summary = "Have a browser of yours told no more",
                .answers = {{204, {}, {}}},
                .refusals = {404, 503}},
               [this](const Request& request) {
                   return remove(request.exchange, request.principal,
                                 std::string(request.arguments["id"]));
               });
    routes.add({.method = net::Method::kPost,
                .path = "/v1/admin/push/subscriptions/{id}/test",
                .proof = net::FreshProof::kNever,
                .summary = "Send a browser of yours a message, to see that it comes",
                .answers = {{202, {}, {}}},
                .refusals = {404}},
               [this](const Request& request) {
                   test(request.exchange, *request.principal, request.arguments["id"]);
               });
}

void PushApi::add_device_routes(net::Routes<core::PrincipalRef>& routes) {
    using Request = net::Routes<core::PrincipalRef>::Request;
    constexpr net::RequestBodyLimits kSmall{.max_bytes = 8192};
    routes.add({.path = "/device/push",
                .summary = "The key with which a device's page subscribes to be woken",
                .answers = {{200, "push_key"}}},
               [this](const Request& request) { show_key(request.exchange); });
    routes.add(
        {.method = net::Method::kPut,
         .path = "/device/push",
         .summary = "Have this device's page woken when a call waits for it",
         .body = kSmall,
         .request = "push_subscription_addition",
         .answers = {{200, "push_subscription"}},
         .refusals = {400, 403, 409, 503}},
        [this](const Request& request) { return add_device(request.exchange, request.principal); });
    routes.add({.method = net::Method::kDelete,
                .path = "/device/push",
                .summary = "Have this device's page woken no more",
                .answers = {{204, {}, {}}},
                .refusals = {403}},
               [this](const Request& request) {
                   return remove_device(request.exchange, request.principal);
               });
}

void PushApi::show_key(net::HttpExchange& exchange) const {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("key").string(uses_.vapid.public_key()).end_object();
    exchange.finish_response();
}

Task<void> PushApi::add_device(net::HttpExchange& exchange, core::PrincipalRef principal) {
    if (principal->device.empty())
        co_return exchange.respond_error(403, "FORBIDDEN", "only devices are woken");
    auto wanted = read(exchange.request().body, *principal);
    if (!wanted) co_return exchange.respond_error(wanted.error());
    auto work = [this, wanted = std::move(*wanted)] {
        auto added = uses_.subscriptions.add(wanted, push::Purpose::kWaking);
        if (added) {  // a page has one, and this is it now
            uses_.subscriptions.remove_those([&](const push::Subscription& each) {
                return each.purpose() == push::Purpose::kWaking &&
                       each.principal == added->principal && each.id != added->id;
            });
        }
        return added;
    };
    const auto added = co_await uses_.pool.run(std::move(work));
    if (!added) co_return exchange.respond_error(added.error());
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    append_subscription(writer, *added, principal->id);
    exchange.finish_response();
}

Task<void> PushApi::remove_device(net::HttpExchange& exchange, core::PrincipalRef principal) {
    if (principal->device.empty())
        co_return exchange.respond_error(403, "FORBIDDEN", "only devices are woken");
    auto work = [this, id = principal->id] {
        uses_.subscriptions.remove_those([&](const push::Subscription& each) {
            return each.purpose() == push::Purpose::kWaking && each.principal == id;
        });
        return true;
    };
    (void)co_await uses_.pool.run(std::move(work));
    exchange.respond(204, "", "");
}

void PushApi::list(net::HttpExchange& exchange, const core::Principal& principal) const {
    json::Writer writer(exchange.begin_response(200, net::kJsonType));
    writer.begin_object().key("subscriptions").begin_array();
    for (const push::Subscription& each : uses_.subscriptions.list())
        append_subscription(writer, each, principal.id);
    writer.end_array().end_object();
    exchange.finish_response();
}

Result<push::Subscription> PushApi::read(std::string_view body,
                                         const core::Principal& principal) const {
    const auto said = json::Value::parse(body, {.max_bytes = 8192});
    const std::string* const endpoint = said ? said->find_string("endpoint") : nullptr;
    if (endpoint == nullptr)
        return fail(ErrorCode::kInvalidArgs, "endpoint and keys {p256dh, auth} are required");
    if (auto good = uses_.services().check(*endpoint); !good) return fail(std::move(good.error()));
    const json::Value* const keys = said->find("keys");
    push::Subscription wanted{
        .id = {},
        .principal = principal.id,
        .credential = principal.credential_id,
        .endpoint = *endpoint,
        .keys = {.point = decoded(keys, "p256dh"), .secret = decoded(keys, "auth")},
        .created_at = {}};
    crypto::SystemRandom random;
    if (!push::seal_push(wanted.keys, "{}", random))
        return fail(ErrorCode::kInvalidArgs,
                    "keys: p256dh is a point of P-256 and auth has 16 bytes, in base64url");
    return wanted;
}

Task<void> PushApi::add(net::HttpExchange& exchange, core::PrincipalRef principal) {
    auto wanted = read(exchange.request().body, *principal);
    if (!wanted) co_return exchange.respond_error(wanted.error());
    exchange.keep_running_when_caller_leaves();
    auto work = [this, wanted = std::move(*wanted)] { return uses_.subscriptions.add(wanted); };
    const auto added = co_await uses_.pool.run(std::move(work));
    if (!added) co_return exchange.respond_error(added.error());
    json::Writer writer(exchange.begin_response(201, net::kJsonType));
    append_subscription(writer, *added, principal->id);
    exchange.finish_response();
}

Task<void> PushApi::remove(net::HttpExchange& exchange, core::PrincipalRef principal,
                           std::string id) {
    exchange.keep_running_when_caller_leaves();
    auto work = [this, id = std::move(id), principal] {
        return uses_.subscriptions.remove(id, principal->id);
    };
    const auto removed = co_await uses_.pool.run(std::move(work));
    if (!removed) co_return exchange.respond_error(removed.error());
    exchange.respond(204, "", "");
}

void PushApi::test(net::HttpExchange& exchange, const core::Principal& principal,
                   std::string_view id) {
    auto found = uses_.subscriptions.find(id);
    if (!found || found->principal != principal.id)
        return exchange.respond_error(404, "NOT_FOUND", "you have no such subscription");
    uses_.sender.send(std::move(*found), {.plain = R"({"kind":"test"})"});
    exchange.respond(202, "", "");
}

}  // namespace crab::admin
