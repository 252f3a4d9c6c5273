#pragma once

#include "console/bridge/console_access.hpp"
#include "net/http/http_client.hpp"
#include "net/http/routed_service.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>

namespace crab::console {

/// What `crab console` serves: the session's routes, the page's files, and below `/console/api/`
/// what the gateway answers to the operator. Only what is known to be needed is passed on. On one
/// event loop.
class ConsoleService final : public net::RoutedService<std::monostate> {
public:
    /// Both outlive it. `read_only`: requests to the gateway are GET.
    ConsoleService(ConsoleAccess& access, net::HttpClient& gateway, bool read_only);

    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    net::BodyAdmission admit_body(const net::HttpRequest& request) override;
    Task<void> serve(net::HttpExchange& exchange) override;

private:
    static constexpr std::size_t kMostBytes = std::size_t{16} << 20;  ///< of an API request

    Task<void> serve_api(const Request& request, std::string_view method);
    Task<void> serve_file(const Request& request);
    Task<void> relay(net::HttpExchange& exchange, std::string_view method, std::string target);

    ConsoleAccess& access_;
    net::HttpClient& gateway_;
    const bool read_only_;
};

}  // namespace crab::console
