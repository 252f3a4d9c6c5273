#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/ed25519.hpp"
#include "trust/pairing/pairing_step.hpp"

#include <memory>
#include <string>
#include <string_view>

namespace crab::cli {

/// The remote that `crab pair test` plays: a tool host with fresh keys on loopback `ws`, which
/// forgets everything when it ends. It has a thread of its own; everything here may be called from
/// another one.
class PairTestRemote {
public:
    struct Options {
        std::string component_id;
        crypto::Ed25519PublicKey gateway_key;  ///< the only one that may pair
        /// Such as `ws://127.0.0.1:0/v1/pair` or `127.0.0.1:0`; port 0: the system chooses
        std::string listen_address;
        std::string listen_path;  ///< begins with `/`; empty: that of the address, or `/v1/pair`
    };

    /// Listens when it returns. Errors: kInvalidArgs for an address that is no `ws://` on loopback,
    /// kUnavailable.
    static Result<std::unique_ptr<PairTestRemote>> start(Options options);
    PairTestRemote(const PairTestRemote&) = delete;
    PairTestRemote& operator=(const PairTestRemote&) = delete;
    ~PairTestRemote();

    /// What the gateway is to dial.
    std::string endpoint() const;
    const crypto::Ed25519PublicKey& public_key() const;
    /// Waits for the end of the first handshake, at most until `deadline`. Errors: kTimeout.
    Result<trust::PairingStep> wait_for_end(Deadline deadline);

private:
    struct Parts;
    explicit PairTestRemote(std::unique_ptr<Parts> parts);
    std::unique_ptr<Parts> parts_;
};

}  // namespace crab::cli
