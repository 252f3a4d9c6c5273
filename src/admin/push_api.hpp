#pragma once

#include "base/task/blocking_pool.hpp"
#include "core/call/principal.hpp"
#include "crypto/random_source.hpp"
#include "net/http/routes.hpp"
#include "push/sending/push_sender.hpp"

#include <functional>
#include <string>

namespace crab::admin {

/// Browsers that are told of calls that wait for a person, on the admin socket below
/// `/v1/admin/push`: `GET /key`; `GET /subscriptions`, all of them; `POST /subscriptions`
/// {`endpoint`, `keys`: {`p256dh`, `auth`}}, as `PushSubscription.toJSON()` gives it; `DELETE
/// /subscriptions/ID`, one's own; `POST /subscriptions/ID/test`. On the public listener
/// `/device/push` for devices that want to be woken: `GET` the key, `PUT` a subscription, `DELETE`
/// all of theirs. Thread-safe.
class PushApi {
public:
    /// What it uses; all of it outlives it.
    struct Uses {
        push::Subscriptions& subscriptions;
        push::PushSender& sender;
        const push::Vapid& vapid;
        std::function<push::PushServices()> services;  ///< that are asked now
        BlockingPool& pool;
    };
    explicit PushApi(Uses uses) : uses_(std::move(uses)) {}
    void add_routes(net::Routes<core::PrincipalRef>& routes);
    void add_device_routes(net::Routes<core::PrincipalRef>& routes);

private:
    void show_key(net::HttpExchange& exchange) const;
    Task<void> add_device(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> remove_device(net::HttpExchange& exchange, core::PrincipalRef principal);
    void list(net::HttpExchange& exchange, const core::Principal& principal) const;
    Task<void> add(net::HttpExchange& exchange, core::PrincipalRef principal);
    Task<void> remove(net::HttpExchange& exchange, core::PrincipalRef principal, std::string id);
    void test(net::HttpExchange& exchange, const core::Principal& principal, std::string_view id);
    Result<push::Subscription> read(std::string_view body, const core::Principal& principal) const;

    const Uses uses_;
};

}  // namespace crab::admin
