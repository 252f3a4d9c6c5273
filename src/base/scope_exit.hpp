#pragma once

#include <utility>

namespace crab {

/// Runs a function when its scope ends.
template <class F>
class ScopeExit {
public:
    explicit ScopeExit(F function) : function_(std::move(function)) {}
    ScopeExit(const ScopeExit&) = delete;
    ScopeExit& operator=(const ScopeExit&) = delete;
    ~ScopeExit() { function_(); }

private:
    F function_;
};

}  // namespace crab
