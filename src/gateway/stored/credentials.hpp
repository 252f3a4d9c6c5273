#pragma once

#include "gateway/context/gateway_context.hpp"
#include "gateway/stored/fleet_membership.hpp"
#include "trust/credential_cache.hpp"
#include "trust/device_keys.hpp"
#include "trust/pairing_codes.hpp"
#include "trust/token_store.hpp"
#include "trust/tokens.hpp"

#include <deque>
#include <memory>

namespace crab::gateway {

/// Stored tokens, pairing codes and device keys; of a node of a fleet, those of the fleet.
class Credentials final : public Component {
public:
    Credentials(const GatewayContext& context, FleetMembership& membership)
        : context_(context), membership_(membership) {}

    std::string_view name() const override { return "credentials"; }
    /// Errors: those of the store.
    Result<void> start() override;
    void stop(Deadline deadline) override;

    trust::Tokens& tokens() { return *tokens_; }
    trust::PairingCodes& codes() { return *codes_; }
    trust::DeviceKeys& keys_of_devices() { return *keys_; }
    /// The cache of the event loop with that index; only called while components start.
    trust::CredentialCache& cache(std::size_t loop) {
        while (caches_.size() <= loop) caches_.emplace_back(*tokens_, context_.clock);
        return caches_[loop];
    }
    /// Stores when tokens were last used; blocks.
    void flush();

private:
    Result<void> share();

    const GatewayContext& context_;
    FleetMembership& membership_;
    std::unique_ptr<trust::TokenStore> store_;
    std::unique_ptr<trust::Tokens> tokens_;
    std::unique_ptr<trust::PairingCodes> codes_;
    std::unique_ptr<trust::DeviceKeys> keys_;
    std::deque<trust::CredentialCache> caches_;  ///< by event loop
};

}  // namespace crab::gateway
