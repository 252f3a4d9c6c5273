#pragma once

#include "base/task/timer_wheel.hpp"

#include <functional>
#include <utility>

namespace crab::sdk {

/// A deadline that calls a function.
class Alarm final : public TimerNode {
public:
    explicit Alarm(std::function<void()> on_expired) : function_(std::move(on_expired)) {}

private:
    void on_expired() override {
        const auto function = function_;  // it may destroy this alarm
        function();
    }
    std::function<void()> function_;
};

}  // namespace crab::sdk
