#pragma once

#include "core/call/cancel_answer.hpp"
#include "core/pipeline/away_calls.hpp"
#include "core/pipeline/pipeline.hpp"
#include "json/parser.hpp"
#include "net/http/routes.hpp"

#include <functional>
#include <optional>
#include <string>

namespace crab::rtp {

/// The HTTP front for callers: discovery, calls and cancels with the schemas of
/// docs/protocols/rtp.md, sections 2 and 3, so that a gateway is itself a tool host. Callers are
/// authenticated by the listener. One per event loop.
class ToolsApi {
public:
    /// Cancels a call by id wherever it runs, or on arrival if it has not arrived yet.
    using Cancel = std::function<core::CancelAnswer(
        const core::Principal& asker, std::string_view tenant, std::string_view call_id)>;

    /// `away` null: no call waits for a device.
    ToolsApi(core::Pipeline& pipeline, core::CallRunner& calls, std::string service, Cancel cancel,
             core::AwayCalls* away = nullptr)
        : pipeline_(pipeline),
          runner_(calls),
          service_(std::move(service)),
          cancel_(std::move(cancel)),
          away_(away) {}

    /// Declares the three routes; `front` names the listener in audit records.
    void add_routes(net::Routes<core::PrincipalRef>& routes, std::string_view front);
    /// `GET /v1/tools`.
    void list(net::HttpExchange& exchange, const core::Principal& principal);
    /// `POST /v1/tools/call`: one response object, or with `Accept: text/event-stream` the events
    /// `frame`, `progress` and, last, `result` with that object. `front` names the listener for the
    /// audit record.
    Task<void> call(net::HttpExchange& exchange, core::PrincipalRef principal,
                    std::string_view front);
    /// `POST /v1/tools/cancel`.
    void cancel(net::HttpExchange& exchange, const core::Principal& principal);

private:
    core::PrincipalRef caller_of(const net::HttpRequest& request, core::PrincipalRef proven) const;
    Task<std::optional<Error>> wait_for_device(net::HttpExchange& exchange,
                                               core::PrincipalRef principal, core::Call& call,
                                               std::string_view wait_ms);
    Task<void> call_streaming(net::HttpExchange& exchange, const core::PrincipalRef& principal,
                              core::Call& call);

    core::Pipeline& pipeline_;
    core::CallRunner& runner_;
    std::string service_;
    Cancel cancel_;
    core::AwayCalls* away_;
    json::Parser parser_;
};

}  // namespace crab::rtp
