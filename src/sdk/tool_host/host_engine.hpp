#pragma once

#include "base/result.hpp"
#include "core/audit/audit_log.hpp"
#include "sdk/tool_host/hosted_tools.hpp"
#include "sdk/tool_host/remote_trust.hpp"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace crab::sdk {

/// A running tool host process: a list of components, with one event loop, the stores, the pipeline
/// that every call takes, and one listener: a Unix socket, or TLS for the gateway that pairs with
/// it. Create and stop it on one thread that is not its loop's. Source: docs/protocols/rtp.md,
/// sections 1 to 3 and 6.
class HostEngine {
public:
    /// Behind mutual TLS.
    struct Paired {
        net::Endpoint endpoint;  ///< port 0: the system chooses
        std::string component_id;
        crypto::Ed25519PublicKey gateway_key;
        std::string pair_path = "/v1/pair";
        std::optional<OperatorFiles> operator_made = {};
    };
    struct Options {
        std::string service;  ///< a name for people
        std::filesystem::path socket;  ///< mode 0600; empty: `paired` is there
        std::optional<Paired> paired;
        /// Made if need be; `ledger.db`, `audit.db` and the folder `pairing` are there; on a Unix
        /// socket it may be empty: then keys hold as long as the process
        std::filesystem::path state_dir;
        /// Makes the tools for the loop that will call them; what they have to tell other than
        /// calls goes to `audit`.
        std::function<Result<std::unique_ptr<HostedTools>>(net::EventLoop& home,
                                                           core::AuditLog& audit)>
            make_tools;
        /// Told of what a paired host has for connections of its own to its gateway, before
        /// anything runs; may be empty.
        std::function<void(RemoteTrust& trust)> on_trust;
    };
    /// The listener answers when it returns. Errors: kUnavailable (address in use, store damaged),
    /// kInvalidArgs (address, component id), those of RemoteTrust::open() and of `make_tools`.
    static Result<std::unique_ptr<HostEngine>> start(const Options& options);
    HostEngine(const HostEngine&) = delete;
    HostEngine& operator=(const HostEngine&) = delete;
    /// stop().
    ~HostEngine();

    /// Where it listens, with the port that the system chose; until stop().
    const net::Endpoint& endpoint() const;
    /// What a gateway's operator compares while pairing, base64; empty on a Unix socket.
    std::string remote_key() const;
    /// Takes no more calls, leaves those that run 10 s, stores what is to be stored, joins all
    /// threads. Idempotent.
    void stop();

private:
    struct Running;
    explicit HostEngine(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace crab::sdk
