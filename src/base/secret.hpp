#pragma once

#include <string>
#include <utility>

namespace crab {

/// A value that cannot be printed: no stream operator, formatter or implicit conversion. Read it
/// with reveal(), where it is used.
template <class T>
class Secret {
public:
    Secret() = default;
    explicit Secret(T value) : value_(std::move(value)) {}
    const T& reveal() const { return value_; }
    // compare secrets in constant time (crypto/digest.hpp)
    friend bool operator==(const Secret&, const Secret&) = delete;

private:
    T value_{};
};

}  // namespace crab
