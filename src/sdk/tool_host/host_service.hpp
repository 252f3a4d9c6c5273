#pragma once

#include "adapters/rtp/pairing/pairing_remote.hpp"
#include "net/http/routed_service.hpp"
#include "sdk/tool_host/remote_trust.hpp"

#include <string>
#include <unordered_map>

namespace crab::sdk {

/// Who may call a tool host, and how a gateway is paired with it. Two of them exist, for one
/// listener each.
class HostCallers {
public:
    virtual ~HostCallers() = default;
    /// Whether a connection that has just opened is one of theirs; on the loop's thread.
    virtual bool knows(const net::Connection& connection) = 0;
    /// Judges the caller by what its connection shows; on the loop's thread.
    virtual Result<core::PrincipalRef> caller_of(const net::HttpRequest& request) = 0;
    /// Awaited before a call of an admitted caller runs.
    virtual Task<void> before_call(const net::HttpRequest&) { co_return; }
    /// Routes of their own, for whoever comes.
    virtual void add_routes(net::Routes<core::PrincipalRef>&) {}
};

/// On a Unix socket: the user who runs the host, as `local/<uid>`, and root.
class LocalCallers final : public HostCallers {
public:
    bool knows(const net::Connection& connection) override;
    Result<core::PrincipalRef> caller_of(const net::HttpRequest& request) override;

private:
    std::unordered_map<unsigned, core::PrincipalRef> callers_;   ///< by user id
};

/// Behind mutual TLS: the gateway that paired this host.
class PairedCallers final : public HostCallers {
public:
    PairedCallers(RemoteTrust& trust, rtp::PairingRemote& pairing, BlockingPool& pool)
        : trust_(trust), pairing_(pairing), pool_(pool) {}
    bool knows(const net::Connection& connection) override {
        return trust_.caller_of(connection.peer_certificate_der()).has_value();
    }
    Result<core::PrincipalRef> caller_of(const net::HttpRequest& request) override {
        return trust_.caller_of(request.certificate_der());
    }
    Task<void> before_call(const net::HttpRequest& request) override;
    /// The WebSocket of a pairing.
    void add_routes(net::Routes<core::PrincipalRef>& routes) override;

private:
    RemoteTrust& trust_;
    rtp::PairingRemote& pairing_;
    BlockingPool& pool_;
};

/// What a tool host serves to those who may: discovery, calls, cancels; and to everybody health and
/// pairing. Source: docs/protocols/rtp.md, sections 1 to 3.
class HostService final : public net::RoutedService<core::PrincipalRef> {
public:
    explicit HostService(HostCallers& callers);
    bool knows(const net::Connection& connection) override { return callers_.knows(connection); }
    /// Bodies of calls and cancels only.
    net::BodyAdmission admit_body(const net::HttpRequest& request) override;
    /// Rows 1 to 3 of section 3, before a byte of the body is read.
    std::optional<net::Refusal> refuse_head(const net::HttpRequest& request) override;
    Task<void> serve(net::HttpExchange& exchange) override;
    std::optional<net::Upgrade> upgrade(const net::HttpRequest& request,
                                        const net::WebSocketOffer& offer) override;
    void refusal_body(const net::HttpRequest* request, int status, std::string_view reason,
                      std::string& body) override;

private:
    static constexpr std::size_t kMostHeldBytes = std::size_t{64} << 20;  ///< of bodies that come

    HostCallers& callers_;
    ByteBudgets budgets_{kMostHeldBytes, kMostHeldBytes};
};

}  // namespace crab::sdk
