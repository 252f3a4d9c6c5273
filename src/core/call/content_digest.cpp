#include "core/call/content_digest.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace crab::core {
namespace {

using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr std::string_view kKind = "sha256:";
// a longer one stands as its digest, so that nothing is copied at each level
constexpr std::size_t kMostObjectText = 1024;

/// Framed by its length, so that no two sequences of parts look alike.
void append_part(std::string& out, std::string_view part) {
    const std::uint64_t size = part.size();
    for (int shift = 56; shift >= 0; shift -= 8) out += static_cast<char>(size >> shift & 0xff);
    out += part;
}

bool is_digit(char byte) { return byte >= '0' && byte <= '9'; }

/// The number tokens of a JSON text that has been parsed, in their order: a parser's tree has them
/// rounded.
class NumberTokens {
public:
    explicit NumberTokens(std::string_view text) : rest_(text) {}
    /// Empty at the end.
    std::string_view next() {
        while (!rest_.empty() && !is_digit(rest_.front()) && rest_.front() != '-') {
            const bool quoted = rest_.front() == '"';
            rest_.remove_prefix(1);
            if (quoted) skip_string();
        }
        std::size_t length = 0;
        while (length < rest_.size() &&
               (is_digit(rest_[length]) ||
                std::string_view("+-.eE").find(rest_[length]) != std::string_view::npos))
            ++length;
        const std::string_view token = rest_.substr(0, length);
        rest_.remove_prefix(length);
        return token;
    }

private:
    /// What follows the opening quote, with the closing one.
    void skip_string() {
        std::size_t at = 0;
        while (at < rest_.size() && rest_[at] != '"') at += rest_[at] == '\\' ? 2 : 1;
        rest_.remove_prefix(std::min(at + 1, rest_.size()));
    }
    std::string_view rest_;
};

/// Sign, digits without zeros at either end, and the power of ten of the last one: one text for
/// each decimal value.
std::string canonical_number(std::string_view token) {
    constexpr std::size_t kMostExponentDigits = 15;
    const bool negative = token.starts_with('-');
    if (negative) token.remove_prefix(1);
    const std::size_t mark = std::min(token.find_first_of("eE"), token.size());
    std::string_view mantissa = token.substr(0, mark),
                     power = token.substr(std::min(mark + 1, token.size()));
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    std::string digits(mantissa.substr(0, point));
    const std::string_view fraction = mantissa.substr(std::min(point + 1, mantissa.size()));
    digits += fraction;
    const std::size_t first = digits.find_first_not_of('0');
    if (first == std::string::npos) return "0";
    const std::size_t last = digits.find_last_not_of('0');
    const bool below = power.starts_with('-');
    if (below || power.starts_with('+')) power.remove_prefix(1);
    while (power.starts_with('0')) power.remove_prefix(1);
    // a tiny one, as it is written
    if (power.size() > kMostExponentDigits) return fmt::format("{}{}", negative ? "-" : "", token);
    std::int64_t exponent = 0;
    std::from_chars(power.data(), power.data() + power.size(), exponent);
    if (below) exponent = -exponent;
    exponent += static_cast<std::int64_t>(digits.size() - 1 - last) -
                static_cast<std::int64_t>(fraction.size());
    return fmt::format("{}{}e{}", negative ? "-" : "",
                       std::string_view(digits).substr(first, last - first + 1), exponent);
}

class Canonical {
public:
    Canonical(std::string& out, std::string_view text) : out_(out), tokens_(text) {}

    void append(element value) {
        switch (value.type()) {
            case element_type::OBJECT: return append_object(value);
            case element_type::ARRAY:
                out_ += '[';
                for (const element item : value.get_array().value_unsafe()) append(item);
                out_ += ']';
                return;
            case element_type::STRING:
                out_ += '"';
                return append_part(out_, value.get_string().value_unsafe());
            case element_type::BOOL: out_ += value.get_bool().value_unsafe() ? 't' : 'f'; return;
            case element_type::NULL_VALUE: out_ += '0'; return;
            case element_type::INT64:
                return append_number(fmt::format_int(value.get_int64().value_unsafe()).str());
            case element_type::UINT64:
                return append_number(fmt::format_int(value.get_uint64().value_unsafe()).str());
            case element_type::DOUBLE:
                return append_number(fmt::format("{}", value.get_double().value_unsafe()));
        }
    }

private:
    void append_number(std::string_view rounded) {
        // of each number, so that the two stay in step
        const std::string_view token = tokens_.next();
        out_ += '#';
        append_part(out_, canonical_number(token.empty() ? rounded : token));
    }
    /// The members are read in the order of the text, for the sake of the tokens, and put in that
    /// of their names.
    void append_object(element value) {
        const std::size_t begin = out_.size();
        std::vector<std::pair<std::string_view, std::string>> members;
        for (const auto field : value.get_object().value_unsafe()) {
            append(field.value);
            members.emplace_back(field.key, out_.substr(begin));
            out_.resize(begin);
        }
        std::ranges::stable_sort(members, {}, [](const auto& member) { return member.first; });
        out_ += '{';
        for (const auto& [name, text] : members) {
            append_part(out_, name);
            out_ += text;
        }
        out_ += '}';
        if (out_.size() - begin <= kMostObjectText) return;
        const ContentDigest digest = crypto::sha256(std::string_view(out_).substr(begin));
        out_.resize(begin);
        out_ += '~';
        out_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
    }

    std::string& out_;
    NumberTokens tokens_;
};

}  // namespace

std::string to_stored(const ContentDigest& digest) {
    std::string text(kKind);
    for (const std::uint8_t byte : digest) fmt::format_to(std::back_inserter(text), "{:02x}", byte);
    return text;
}

std::optional<ContentDigest> from_stored(std::string_view text) {
    ContentDigest digest;
    if (!text.starts_with(kKind) || text.size() != kKind.size() + 2 * digest.size())
        return std::nullopt;
    for (std::size_t i = 0; i < digest.size(); ++i) {
        const char* const byte = text.data() + kKind.size() + 2 * i;
        if (std::from_chars(byte, byte + 2, digest[i], 16).ptr != byte + 2) return std::nullopt;
    }
    return digest;
}

void append_canonical(std::string& out, element value, std::string_view text) {
    Canonical(out, text).append(value);
}

ContentDigest digest_of(const Call& call, const Tool& tool, std::string_view place, element args) {
    std::string content;
    content.reserve(256 + call.args.size() * 2 + call.body.size());
    for (const std::string_view part :
         {std::string_view(tool.unique_name), std::string_view(tool.source_text), place,
          call.context.agent_id, call.context.isolation_key, call.body_type, call.body}) {
        append_part(content, part);
    }
    append_canonical(content, args, call.args);
    return crypto::sha256(content);
}

}  // namespace crab::core
