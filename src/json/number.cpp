#include "json/number.hpp"

#include <cmath>
#include <limits>

namespace crab::json {
namespace {

constexpr double kTwo63 = 9'223'372'036'854'775'808.0;
constexpr double kTwo64 = 18'446'744'073'709'551'616.0;

double as_double(const Number& number) {
    return std::visit([](auto value) { return static_cast<double>(value); }, number);
}

// An integer beside a double: the double's whole part fits an integer or decides alone; its fraction breaks a tie.
template <class Integer>
std::partial_ordering compare_mixed(Integer whole, double real, double below, double above) {
    if (std::isnan(real)) return std::partial_ordering::unordered;
    if (real < below) return std::partial_ordering::greater;
    if (real >= above) return std::partial_ordering::less;
    const double floor = std::floor(real);
    const auto other = static_cast<Integer>(floor);
    if (whole != other) return whole <=> other;
    return floor < real ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

std::partial_ordering compare_to_double(const Number& whole, double real) {
    if (const auto* value = std::get_if<std::int64_t>(&whole)) return compare_mixed(*value, real, -kTwo63, kTwo63);
    return compare_mixed(std::get<std::uint64_t>(whole), real, 0.0, kTwo64);
}

}  // namespace

std::partial_ordering compare(const Number& left, const Number& right) {
    const auto* left_real = std::get_if<double>(&left);
    const auto* right_real = std::get_if<double>(&right);
    if (left_real && right_real) return *left_real <=> *right_real;
    if (right_real) return compare_to_double(left, *right_real);
    if (left_real) return 0 <=> compare_to_double(right, *left_real);
    const auto* left_small = std::get_if<std::int64_t>(&left);
    const auto* right_small = std::get_if<std::int64_t>(&right);
    if (left_small && right_small) return *left_small <=> *right_small;
    if (left_small && *left_small < 0) return std::partial_ordering::less;
    if (right_small && *right_small < 0) return std::partial_ordering::greater;
    const auto large = [](const Number& n) {
        const auto* small = std::get_if<std::int64_t>(&n);
        return small ? static_cast<std::uint64_t>(*small) : std::get<std::uint64_t>(n);
    };
    return large(left) <=> large(right);
}

bool is_whole(double value) { return std::floor(value) == value; }

bool is_multiple(const Number& value, const Number& divisor) {
    const bool whole = !std::holds_alternative<double>(value) && !std::holds_alternative<double>(divisor);
    if (whole) {
        const auto magnitude = [](const Number& n) {
            const auto* small = std::get_if<std::int64_t>(&n);
            if (!small) return std::get<std::uint64_t>(n);
            return *small < 0 ? 0 - static_cast<std::uint64_t>(*small) : static_cast<std::uint64_t>(*small);
        };
        return magnitude(value) % magnitude(divisor) == 0;
    }
    const double numerator = as_double(value);
    const double denominator = as_double(divisor);
    if (std::fmod(numerator, denominator) == 0) return true;
    const double quotient = numerator / denominator;
    if (!std::isfinite(quotient)) return is_whole(numerator) && std::fmod(1.0, denominator) == 0;
    // Both sides carry half a unit of rounding, so a whole quotient may be off by a few units, never by more.
    const double nearest = std::round(quotient);
    constexpr double kUnits = 4 * std::numeric_limits<double>::epsilon();
    return nearest != 0 && std::abs(quotient - nearest) <= std::abs(nearest) * kUnits && std::abs(nearest) < kTwo63 / 4096;
}

}  // namespace crab::json
