#pragma once

#include "trust/token_store.hpp"

#include <algorithm>

namespace crab::trust {

/// Tokens that end with the process. `failure` makes the writing functions fail, as a full disk
/// does.
class TokenStoreMemory final : public TokenStore {
public:
    std::optional<Error> failure;
    Contents contents;

    Result<Contents> load_all() override { return contents; }

    Result<void> insert(const TokenRecord& token,
                        const std::optional<DeviceRecord>& new_device) override {
        if (failure) return fail(*failure);
        contents.tokens.push_back(token);
        if (new_device) contents.devices.push_back(*new_device);
        return {};
    }

    Result<void> name_callers(std::span<const CallerName> names) override {
        if (failure) return fail(*failure);
        for (const CallerName& name : names) {
            for (TokenRecord& token : contents.tokens) {
                if (token.id == name.token_id) token.caller = name.caller;
            }
        }
        return {};
    }

    Result<void> rename_device(std::string_view slug, std::string_view name) override {
        if (failure) return fail(*failure);
        for (DeviceRecord& device : contents.devices)
            if (device.slug == slug) device.display_name = name;
        return {};
    }

    Result<void> revoke(std::span<const std::string> token_ids, SystemTime at) override {
        if (failure) return fail(*failure);
        for (TokenRecord& token : contents.tokens) {
            if (std::ranges::find(token_ids, token.id) != token_ids.end() && !token.revoked_at)
                token.revoked_at = at;
        }
        return {};
    }

    Result<void> record_uses(std::span<const TokenUse> uses) override {
        if (failure) return fail(*failure);
        for (const TokenUse& use : uses) {
            for (TokenRecord& token : contents.tokens) {
                if (token.id != use.token_id) continue;
                token.last_used_at = use.at;
                for (DeviceRecord& device : contents.devices) {
                    if (device.slug == token.device) device.last_seen_at = use.at;
                }
            }
        }
        return {};
    }
};

}  // namespace crab::trust
