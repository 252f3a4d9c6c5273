#include "json/schema/punycode.hpp"

#include <algorithm>
#include <cstdint>

namespace crab::json {
namespace {

// The parameters of RFC 3492, section 5.
constexpr std::uint64_t kBase = 36, kLeast = 1, kMost = 26, kSkew = 38, kDamp = 700,
                        kFirstBias = 72, kFirstPoint = 128;

std::uint64_t adapt(std::uint64_t delta, std::uint64_t points, bool first) {
    delta = first ? delta / kDamp : delta / 2;
    delta += delta / points;
    std::uint64_t k = 0;
    for (; delta > (kBase - kLeast) * kMost / 2; k += kBase) delta /= kBase - kLeast;
    return k + (kBase - kLeast + 1) * delta / (delta + kSkew);
}

std::uint64_t threshold(std::uint64_t k, std::uint64_t bias) {
    return k <= bias ? kLeast : std::min(k - bias, kMost);
}

}  // namespace

std::optional<std::u32string> decode_punycode(std::string_view text) {
    std::u32string label;
    const std::size_t dash = text.rfind('-');
    if (dash != std::string_view::npos) {
        for (const char c : text.substr(0, dash)) label += static_cast<unsigned char>(c);
        text.remove_prefix(dash + 1);
    }
    std::uint64_t point = kFirstPoint, index = 0, bias = kFirstBias;
    while (!text.empty()) {
        const std::uint64_t before = index;
        std::uint64_t weight = 1;
        for (std::uint64_t k = kBase;; k += kBase) {
            if (text.empty()) return std::nullopt;
            const char c = text[0];
            text.remove_prefix(1);
            const std::uint64_t digit = c >= 'a' && c <= 'z'   ? std::uint64_t(c - 'a')
                                        : c >= 'A' && c <= 'Z' ? std::uint64_t(c - 'A')
                                        : c >= '0' && c <= '9' ? std::uint64_t(c - '0') + 26
                                                               : kBase;
            if (digit == kBase) return std::nullopt;
            index += digit * weight;
            const std::uint64_t limit = threshold(k, bias);
            if (digit < limit) break;
            weight *= kBase - limit;
            if (index > 0xFFFF'FFFF || weight > 0xFFFF'FFFF) return std::nullopt;
        }
        const std::uint64_t size = label.size() + 1;
        bias = adapt(index - before, size, before == 0);
        point += index / size;
        index %= size;
        if (point > 0x10FFFF || (point >= 0xD800 && point <= 0xDFFF)) return std::nullopt;
        label.insert(label.begin() + static_cast<std::ptrdiff_t>(index),
                     static_cast<char32_t>(point));
        ++index;
    }
    return label;
}

std::string punycode_of(const std::u32string& label) {
    constexpr std::size_t kMaxPoints = 256;
    std::string out;
    if (label.size() > kMaxPoints) return std::string(kMaxPoints, 'z');
    for (const char32_t c : label) {
        if (c < kFirstPoint) out += static_cast<char>(c);
    }
    const std::size_t basic = out.size();
    if (basic > 0) out += '-';
    std::uint64_t point = kFirstPoint, delta = 0, bias = kFirstBias, done = basic;
    while (done < label.size()) {
        char32_t next = 0x10FFFF;
        for (const char32_t c : label) {
            if (c >= point) next = std::min(next, c);
        }
        delta += (next - point) * (done + 1);
        point = next;
        for (const char32_t c : label) {
            if (c < point) ++delta;
            if (c != point) continue;
            std::uint64_t rest = delta;
            for (std::uint64_t k = kBase;; k += kBase) {
                const std::uint64_t limit = threshold(k, bias);
                const std::uint64_t digit =
                    rest < limit ? rest : limit + (rest - limit) % (kBase - limit);
                out += "abcdefghijklmnopqrstuvwxyz0123456789"[digit];
                if (rest < limit) break;
                rest = (rest - limit) / (kBase - limit);
            }
            bias = adapt(delta, done + 1, done == basic);
            delta = 0;
            ++done;
        }
        ++delta;
        ++point;
    }
    return out;
}

}  // namespace crab::json
