#pragma once

#include "trust/pin_store.hpp"

#include <map>
#include <mutex>
#include <tuple>

namespace crab::trust {

/// For tests.
class PinStoreMemory final : public PinStore {
public:
    Result<std::vector<Pin>> load(std::string_view source) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return fail(ErrorCode::kUnavailable, "the pins cannot be read");
        std::vector<Pin> found;
        for (const auto& [key, pin] : pins_) {
            if (pin.source == source) found.push_back(pin);
        }
        return found;
    }
    Result<void> put(std::span<const Pin> pins) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return fail(ErrorCode::kUnavailable, "the pins cannot be written");
        for (const Pin& pin : pins)
            pins_.insert_or_assign(std::tuple(pin.source, pin.kind, pin.key), pin);
        return {};
    }
    Result<void> forget(std::string_view source) override {
        const std::scoped_lock lock(mutex_);
        if (failing_) return fail(ErrorCode::kUnavailable, "the pins cannot be written");
        std::erase_if(pins_, [&](const auto& pin) { return pin.second.source == source; });
        return {};
    }
    void set_failing(bool failing) {
        const std::scoped_lock lock(mutex_);
        failing_ = failing;
    }

private:
    std::mutex mutex_;
    std::map<std::tuple<std::string, std::string, std::string>, Pin> pins_;
    bool failing_ = false;
};

}  // namespace crab::trust
