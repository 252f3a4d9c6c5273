#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/ed25519.hpp"
#include "trust/pairing/pairing_step.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace crab::cli {

/// The remote end of `crab peers pair test`: a tool host with fresh keys on loopback `ws` that
/// stores nothing. Runs on a thread of its own; call it from another one.
class PairTestRemote {
public:
    struct Options {
        std::string component_id;
        crypto::Ed25519PublicKey gateway_key;  ///< the only one that may pair
        /// Such as `ws://127.0.0.1:0/v1/pair` or `127.0.0.1:0`; port 0: chosen by the system
        std::string listen_address;
        std::string listen_path;  ///< begins with `/`; empty: that of the address, or `/v1/pair`
    };

    /// Listens when it returns. Errors: kInvalidArgs for anything but `ws://` on loopback,
    /// kUnavailable.
    static Result<std::unique_ptr<PairTestRemote>> start(Options options);
    PairTestRemote(const PairTestRemote&) = delete;
    PairTestRemote& operator=(const PairTestRemote&) = delete;
    ~PairTestRemote();

    /// The address that the gateway dials.
    std::string endpoint() const;
    const crypto::Ed25519PublicKey& public_key() const;
    /// Waits for the end of the first handshake, at most until `deadline`. Errors: kTimeout.
    Result<trust::PairingStep> wait_for_end(Deadline deadline);

private:
    struct Running;
    explicit PairTestRemote(std::unique_ptr<Running> running);
    std::unique_ptr<Running> running_;
};

}  // namespace crab::cli
