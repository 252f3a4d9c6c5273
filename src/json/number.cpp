#include "json/number.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace crab::json {
namespace {

constexpr double kTwo63 = 9'223'372'036'854'775'808.0;
constexpr double kTwo64 = 18'446'744'073'709'551'616.0;

__extension__ using Wide = unsigned __int128;

/// digits * 10^exponent, without the sign.
struct Decimal {
    std::uint64_t digits = 0;
    int exponent = 0;
};

// A double as the shortest decimal that reads back as it, which is what people wrote.
Decimal decimal_of(double value) {
    std::array<char, 32> text;
    const char* const end = std::to_chars(text.data(), text.data() + text.size(), std::abs(value),
                                          std::chars_format::scientific)
                                .ptr;
    Decimal out;
    const char* at = text.data();
    for (bool fraction = false; at != end && *at != 'e'; ++at) {
        if (*at == '.') {
            fraction = true;
        } else {
            out.digits = out.digits * 10 + static_cast<std::uint64_t>(*at - '0');
            out.exponent -= fraction ? 1 : 0;
        }
    }
    int exponent = 0;
    const bool negative = at + 1 < end && at[1] == '-';
    std::from_chars(at + 2, end, exponent);
    out.exponent += negative ? -exponent : exponent;
    return out;
}

Decimal decimal_of(const Number& number) {
    if (const auto* large = std::get_if<std::uint64_t>(&number)) return {*large, 0};
    if (const auto* real = std::get_if<double>(&number)) return decimal_of(*real);
    const auto small = std::get<std::int64_t>(number);
    return {small < 0 ? 0 - static_cast<std::uint64_t>(small) : static_cast<std::uint64_t>(small),
            0};
}

std::uint64_t multiply(std::uint64_t left, std::uint64_t right, std::uint64_t modulus) {
    return static_cast<std::uint64_t>(static_cast<Wide>(left) * right % modulus);
}

std::uint64_t power_of_ten(int exponent, std::uint64_t modulus) {
    std::uint64_t result = 1 % modulus;
    for (std::uint64_t base = 10 % modulus; exponent > 0; exponent /= 2) {
        if (exponent % 2 != 0) result = multiply(result, base, modulus);
        base = multiply(base, base, modulus);
    }
    return result;
}

// An integer beside a double: the double's whole part fits an integer or decides alone; its
// fraction breaks a tie.
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
    if (const auto* value = std::get_if<std::int64_t>(&whole))
        return compare_mixed(*value, real, -kTwo63, kTwo63);
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
    const Decimal dividend = decimal_of(value);
    const Decimal unit = decimal_of(divisor);
    // digits * 10^shift modulo the unit's digits, without ever building the power
    if (unit.exponent <= dividend.exponent) {
        return multiply(dividend.digits % unit.digits,
                        power_of_ten(dividend.exponent - unit.exponent, unit.digits),
                        unit.digits) == 0;
    }
    // of the dividend, so that a unit with more zeros is larger than it
    constexpr int kMostDigits = 19;
    const int zeros = unit.exponent - dividend.exponent;
    if (dividend.digits == 0) return true;
    if (zeros > kMostDigits) return false;
    Wide scaled = unit.digits;
    for (int i = 0; i < zeros; ++i) scaled *= 10;
    return dividend.digits % scaled == 0;
}

}  // namespace crab::json
