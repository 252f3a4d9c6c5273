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

std::uint64_t digest(std::string_view text) {
    std::uint64_t state = mix(kSeed, text.size());
    for (; text.size() >= 8; text.remove_prefix(8)) {
        std::uint64_t word;
        std::memcpy(&word, text.data(), 8);
        state = mix(state, word);
    }
    std::uint64_t rest = 0;
    for (const char c : text) rest = rest << 8 | static_cast<unsigned char>(c);
    return mix(state, rest);
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
