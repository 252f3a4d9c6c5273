#include "json/parser.hpp"

#include "base/ascii.hpp"
#include "json/duplicates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <stdexcept>

namespace crab::json {
namespace {

Error explain(simdjson::error_code code, const Limits& limits) {
    if (code == simdjson::DEPTH_ERROR) {
        return {.code = ErrorCode::kInvalidArgs,
                .message =
                    fmt::format("the JSON text is nested deeper than {} levels", limits.max_depth)};
    }
    if (code == simdjson::UTF8_ERROR)
        return {.code = ErrorCode::kInvalidArgs, .message = "the JSON text is not valid UTF-8"};
    if (code == simdjson::EMPTY)
        return {.code = ErrorCode::kInvalidArgs, .message = "the JSON text is empty"};
    if (code == simdjson::NUMBER_ERROR) {
        return {.code = ErrorCode::kInvalidArgs,
                .message =
                    "the JSON text holds a malformed number or one beyond the range of a double"};
    }
    if (code == simdjson::STRING_ERROR) {
        return {.code = ErrorCode::kInvalidArgs,
                .message = "the JSON text holds a string with an invalid escape or surrogate"};
    }
    if (code == simdjson::UNCLOSED_STRING)
        return {.code = ErrorCode::kInvalidArgs, .message = "the JSON text ends inside a string"};
    if (code == simdjson::UNESCAPED_CHARS) {
        return {.code = ErrorCode::kInvalidArgs,
                .message = "the JSON text holds a control character that is not escaped"};
    }
    if (code == simdjson::MEMALLOC)
        return {.code = ErrorCode::kOversize, .message = "no memory for a JSON text of this size"};
    return {.code = ErrorCode::kInvalidArgs,
            .message = "the text is not valid JSON: check commas, colons, brackets and literals"};
}

}  // namespace

Result<Root> Parser::parse(std::string_view text) {
    ++turn_;
    if (text.size() > limits_.max_bytes) {
        return fail(ErrorCode::kOversize, fmt::format("the JSON text has {} bytes, the limit is {}",
                                                      text.size(), limits_.max_bytes));
    }
    if (text.size() > capacity_ || capacity_ == 0) {
        if (auto room = reserve(text.size()); !room) return fail(std::move(room.error()));
    }
    if (!text.empty()) std::memcpy(padded_.get(), text.data(), text.size());
    std::memset(padded_.get() + text.size(), 0, kZeros);
    auto facts = read_in_one_pass({padded_.get(), text.size()}, parser_.doc, begins_.get(),
                                  limits_.max_depth);
    if (!facts) {
        auto rare = parse_rare(text.size());
        if (!rare) return fail(std::move(rare.error()));
        facts = *rare;
    }
    return Root(parser_.doc.root(), Source(text, begins_.get()), *facts);
}

/// A text that read_in_one_pass() leaves to simdjson, which says what is wrong with it, if
/// anything.
Result<TextFacts> Parser::parse_rare(std::size_t bytes) {
    if (parser_.capacity() < capacity_) {
        // simdjson refuses the level that reaches its limit, so its limit is one more than ours.
        const auto code = parser_.allocate(capacity_, limits_.max_depth + 1);
        if (code != simdjson::SUCCESS) return fail(explain(code, limits_));
    }
    auto code = parser_.parse(padded_.get(), bytes, false).error();
    if (code == simdjson::NUMBER_ERROR && shorten_long_integers(bytes))
        code = parser_.parse(padded_.get(), bytes, false).error();
    if (code != simdjson::SUCCESS) return fail(explain(code, limits_));
    find_begins(parser_.doc, {padded_.get(), bytes},
                parser_.implementation->structural_indexes.get(), begins_.get());
    return TextFacts{.compact = false, .repeats_names = has_duplicate(parser_.doc.root())};
}

Element Borrowed::element() const {
    if (!holds()) throw std::logic_error("a JSON element was used after its parser went on");
    return element_;
}

void Parser::shrink() {
    constexpr std::size_t kWorthKeeping = std::size_t{1} << 20;
    if (capacity_ <= kWorthKeeping) return;
    ++turn_;
    static_cast<void>(reserve(0));
}

Result<void> Parser::reserve(std::size_t bytes) {
    constexpr std::size_t kLeast = 4096;
    const std::size_t capacity = std::bit_ceil(std::max(bytes, kLeast));
    capacity_ = 0;
    constexpr std::size_t kBehind = std::max(kPadding, simdjson::SIMDJSON_PADDING);
    padded_ = std::make_unique_for_overwrite<char[]>(capacity + kBehind);
    // as many as the tape has words
    begins_ = std::make_unique_for_overwrite<std::uint32_t[]>(capacity + kBehind);
    auto code = parser_.doc.allocate(capacity);
    if (code == simdjson::SUCCESS && parser_.capacity() != 0)
        code = parser_.allocate(capacity, limits_.max_depth + 1);
    if (code != simdjson::SUCCESS) return fail(explain(code, limits_));
    capacity_ = capacity;
    return {};
}

// simdjson refuses integers beyond 64 bits. With their last two digits replaced by "e2" they parse
// as doubles, and every offset into the text stays right. Returns whether anything changed.
bool Parser::shorten_long_integers(std::size_t bytes) {
    constexpr std::ptrdiff_t kFirstTooLong = 19;  // 2^63 has 19 digits
    bool changed = false;
    const auto& tokens = *parser_.implementation;
    const char* const text_end = padded_.get() + bytes;
    for (std::uint32_t i = 0;
         i < tokens.n_structural_indexes && tokens.structural_indexes[i] < bytes; ++i) {
        char* const begin = padded_.get() + tokens.structural_indexes[i];
        char* end = begin + (*begin == '-' ? 1 : 0);
        while (end < text_end && is_digit(*end)) ++end;
        if (end - begin < kFirstTooLong) continue;
        if (end < text_end && (*end == '.' || *end == 'e' || *end == 'E')) continue;
        std::int64_t small;
        std::uint64_t large;
        if (std::from_chars(begin, end, small).ec == std::errc{} ||
            std::from_chars(begin, end, large).ec == std::errc{})
            continue;
        end[-2] = 'e';
        end[-1] = '2';
        changed = true;
    }
    return changed;
}

std::optional<std::string> Root::find_duplicate() const {
    return repeats_names() ? json::find_duplicate(element_) : std::nullopt;
}

std::optional<std::string_view> Root::raw_member(std::string_view name) const {
    const auto value = get(element_, name);
    return value ? std::optional(raw(*value)) : std::nullopt;
}

}  // namespace crab::json
