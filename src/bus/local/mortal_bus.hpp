#pragma once

#include "bus/bus.hpp"

#include <memory>
#include <string>
#include <utility>

namespace crab::bus::local {

/// The bus of a process that can die: from then on nothing leaves it, and nobody has its place.
class MortalBus final : public Bus {
public:
    explicit MortalBus(std::unique_ptr<Bus> bus) : bus_(std::move(bus)) {}

    Result<Receipt> send(const Place& to, std::string message) override {
        if (!bus_) return dead();
        return bus_->send(to, std::move(message));
    }
    Result<void> publish(Topic topic, std::string message) override {
        if (!bus_) return dead();
        return bus_->publish(topic, std::move(message));
    }
    bool connected() const override { return bus_ != nullptr; }
    void die() { bus_.reset(); }

private:
    static std::unexpected<Error> dead() {
        return fail(ErrorCode::kUnavailable, "the process is dead");
    }
    std::unique_ptr<Bus> bus_;
};

}  // namespace crab::bus::local
