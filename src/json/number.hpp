#pragma once

#include <compare>
#include <cstdint>
#include <variant>

namespace crab::json {

/// A JSON number as it was read.
using Number = std::variant<std::int64_t, std::uint64_t, double>;

/// Compares by mathematical value, without rounding: 1 equals 1.0, and 2^53 + 1 is more than the
/// double 2^53.
std::partial_ordering compare(const Number& left, const Number& right);
/// Whether the value has no fraction (1.0 has none).
bool is_whole(double value);
/// Whether `value` is a whole multiple of `divisor`, which is more than 0. Exact in decimal, on the
/// numbers as people write them: 4.35 is a multiple of 0.01 although neither is an exact binary
/// fraction.
bool is_multiple(const Number& value, const Number& divisor);

}  // namespace crab::json
