#include "core/ledger/ledger_content.hpp"

#include "base/hash.hpp"

#include <bit>
#include <concepts>
#include <cstring>

namespace crab::core {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::uint64_t kSeed = 0x2d35'8dcc'aa6c'78a5ULL;
constexpr std::uint64_t kFold = 0x8bb8'4b93'962e'acc9ULL;
// Before main(), not with the first call: every step would ask whether they are made.
const std::uint64_t kSecretSeed = kSeed ^ detail::hash_seed(),
                    kSecretFold = kFold ^ detail::hash_seed();

std::uint64_t mix(std::uint64_t state, std::uint64_t value) {
    return detail::fold(state ^ kSecretSeed, value ^ kSecretFold) + state * 3;
}

std::uint64_t word_at(const char* bytes) {
    std::uint64_t word;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

/// Fewer than eight bytes; those of a longer half overlap.
std::uint64_t short_word(std::string_view text) {
    if (text.size() >= 4) {
        std::uint32_t first, last;
        std::memcpy(&first, text.data(), 4);
        std::memcpy(&last, text.data() + text.size() - 4, 4);
        return std::uint64_t{first} << 32 | last;
    }
    std::uint64_t word = 0;
    for (const char c : text) word = word << 8 | static_cast<unsigned char>(c);
    return word;
}

/// The size is part of it, so the last step may see bytes again.
std::uint64_t digest(std::string_view text) {
    constexpr std::size_t kStep = 16;
    std::uint64_t state = kSeed + text.size() * kFold;
    const auto two_words = [&](std::uint64_t first, std::uint64_t second) {
        state = detail::fold(state ^ first ^ kSecretSeed, second ^ kSecretFold) + state * 3;
    };
    if (text.size() < sizeof(std::uint64_t)) return mix(state, short_word(text));
    const char* const end = text.data() + text.size();
    for (const char* at = text.data(); end - at > std::ptrdiff_t{kStep}; at += kStep)
        two_words(word_at(at), word_at(at + 8));
    if (text.size() <= kStep)
        two_words(word_at(text.data()), word_at(end - 8));
    else
        two_words(word_at(end - kStep), word_at(end - 8));
    return state;
}

std::uint64_t digest(double number) {
    return mix(11, std::bit_cast<std::uint64_t>(number == 0 ? 0.0 : number));
}
/// `3` and `3.0` are equal; an integer that no double says is only equal to itself.
template <std::integral T>
std::uint64_t digest(T number) {
    const auto rounded = static_cast<double>(number);
    const bool exact = rounded < 0x1p63 && rounded >= -0x1p63 && static_cast<T>(rounded) == number;
    return exact ? digest(rounded) : mix(12, static_cast<std::uint64_t>(number));
}

std::uint64_t digest(element value) {
    switch (value.type()) {
        case element_type::OBJECT: {
            std::uint64_t sum = 7;  // a sum, because the order of members does not count
            for (const auto field : value.get_object().value_unsafe())
                sum += mix(digest(field.key), digest(field.value));
            return sum;
        }
        case element_type::ARRAY: {
            std::uint64_t state = 5;
            for (const element item : value.get_array().value_unsafe())
                state = mix(state, digest(item));
            return state;
        }
        case element_type::STRING: return digest(value.get_string().value_unsafe());
        case element_type::BOOL: return value.get_bool().value_unsafe() ? 1 : 2;
        case element_type::NULL_VALUE: return 3;
        case element_type::INT64: return digest(value.get_int64().value_unsafe());
        case element_type::UINT64: return digest(value.get_uint64().value_unsafe());
        case element_type::DOUBLE: return digest(value.get_double().value_unsafe());
    }
    return 0;
}

}  // namespace

std::uint64_t content_of(const Call& call, const Tool& tool, element args) {
    std::uint64_t content = digest(args);
    for (const std::string_view part :
         {std::string_view(tool.unique_name), call.context.agent_id, call.context.isolation_key})
        content = mix(content, digest(part));
    if (!call.body_type.empty())
        content = mix(mix(content, digest(call.body_type)), digest(call.body));
    return content;
}

std::uint64_t content_of(const ContentDigest& digest) {
    return hash_text({reinterpret_cast<const char*>(digest.data()), digest.size()});
}

}  // namespace crab::core
