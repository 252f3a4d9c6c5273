#include "json/single_pass.hpp"

#include "base/ascii.hpp"
#include "json/duplicates.hpp"
#include "json/escapes.hpp"
#include "json/string_block.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

namespace crab::json {
namespace {

constexpr std::uint64_t kMostCounted = 0xff'ffff;  // simdjson counts in 24 bits
constexpr std::size_t kMostLevels = 64, kMostNames = 256, kMostNamesOfOne = 24;

/// 10 to the power of the index: exact as doubles.
constexpr std::array<double, 16> kPowers{1,   1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                         1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

struct Real {
    const char* end;  // null: not read here
    double value;
};

/// A number with `digits` from `begin` to its `point`. With 15 digits in all, they and the power of
/// ten are exact as doubles, so that one division rounds the quotient correctly.
Real read_fraction(const char* begin, const char* point, std::uint64_t digits) {
    constexpr std::ptrdiff_t kMostDigits = 15;
    const char* at = point + 1;
    for (; is_digit(*at); ++at) digits = digits * 10 + static_cast<std::uint64_t>(*at - '0');
    const std::ptrdiff_t count = at - point - 1;
    const bool rare = at - begin - 1 > kMostDigits || *at == 'e' || *at == 'E' || digits == 0;
    if (count == 0 || rare) return {nullptr, 0};
    return {at, static_cast<double>(digits) / kPowers[static_cast<std::size_t>(count)]};
}

/// A name lies in the document: its size in four bytes, then its bytes.
std::uint32_t size_of(const std::uint8_t* name) {
    std::uint32_t size;
    std::memcpy(&size, name, sizeof size);
    return size;
}

bool is_among(const std::uint8_t* const* names, std::size_t count, const std::uint8_t* name) {
    const std::uint32_t size = size_of(name);
    return std::any_of(names, names + count, [&](const std::uint8_t* other) {
        return size_of(other) == size && std::memcmp(other + 4, name + 4, size) == 0;
    });
}

/// An array or an object that has begun.
struct Level {
    std::size_t open;  // its word on the tape
    std::uint64_t count;  // of its items or members so far
    std::uint64_t kinds;  // of its names: a bit by size, first and last byte
    std::size_t first_name;  // among the names of all levels
    char closing;
};

/// Those around the one that is read now, and the first names of each. Not initialised: most texts
/// need little of it.
struct Around {
    std::array<Level, kMostLevels + 1> levels;
    std::array<const std::uint8_t*, kMostNames> names;
};

/// Everything is inlined into one function and takes no address of this, so that it is held in
/// registers.
#define CRAB_INLINE [[gnu::always_inline]] inline

class Pass {
public:
    Pass(std::string_view text, simdjson::dom::document& document, std::uint32_t* begins)
        : text_(text.data()),
          tape_(document.tape.get()),
          begins_(begins),
          strings_(document.string_buf.get()) {}

    /// False: not read here.
    CRAB_INLINE bool run(Around& around, std::size_t max_levels) {
        Level* level = around.levels.data();
        const Level* const last = level + max_levels;
        level->closing = '\0';  // of the text itself
        put('r', 0);
        skip_blanks();
        for (;;) {
            if (level->closing == '}' && !name(*level, around)) return false;
            switch (text_[at_]) {
                case '"':
                    if (!string()) return false;
                    break;
                case '{':
                case '[':
                    if (level == last) return false;
                    open(*++level);
                    if (text_[at_] != level->closing) continue;
                    close(*level--);
                    break;
                case 't':
                case 'f':
                case 'n':
                    if (!literal()) return false;
                    break;
                default:
                    if (!number()) return false;
            }
            // behind a value: up to the next one of an array or object that goes on
            for (;;) {
                if (level->closing == '\0') return true;
                ++level->count;
                if (find(',')) {
                    ++at_;
                    skip_blanks();
                    break;
                }
                if (text_[at_] != level->closing) return false;
                close(*level--);
            }
        }
    }

    /// Behind a text that was read: its facts, if its end is where it ends.
    CRAB_INLINE std::optional<TextFacts> end(std::string_view text,
                                             const simdjson::dom::document& document) {
        skip_blanks();
        if (at_ != text.size()) return std::nullopt;
        put('r', 0);
        tape_[0] |= size_;
        if (beyond_ascii_ != 0 && !simdjson::validate_utf8(text)) return std::nullopt;
        const bool repeats = repeats_names_ || (many_names_ && has_duplicate(document.root()));
        return TextFacts{.compact = !blanks_, .repeats_names = repeats};
    }

private:
    CRAB_INLINE void put(char type, std::uint64_t payload) {
        begins_[size_] = static_cast<std::uint32_t>(at_);
        tape_[size_++] = std::uint64_t{static_cast<unsigned char>(type)} << 56 | payload;
    }

    CRAB_INLINE void skip_blanks() {
        if (static_cast<unsigned char>(text_[at_]) > ' ') [[likely]]
            return;
        for (char c = text_[at_]; c == ' ' || c == '\t' || c == '\n' || c == '\r'; c = text_[++at_])
            blanks_ = true;
    }
    /// Whether that is what follows, behind white space.
    CRAB_INLINE bool find(char c) {
        if (text_[at_] == c) [[likely]]
            return true;
        skip_blanks();
        return text_[at_] == c;
    }

    /// `}` is two behind `{` in ASCII, and `]` two behind `[`.
    CRAB_INLINE void open(Level& level) {
        const char bracket = text_[at_];
        level = {.open = size_,
                 .count = 0,
                 .kinds = 0,
                 .first_name = named_,
                 .closing = static_cast<char>(bracket + 2)};
        put(bracket, 0);
        ++at_;
        skip_blanks();
    }
    CRAB_INLINE void close(const Level& level) {
        put(level.closing, level.open);
        tape_[level.open] |= size_ | std::min(level.count, kMostCounted) << 32;
        named_ = level.first_name;
        ++at_;
    }

    CRAB_INLINE bool name(Level& level, Around& around) {
        const std::uint8_t* const begin = strings_ + string_;
        if (text_[at_] != '"' || !string()) return false;
        if (level.count >= kMostNamesOfOne) [[unlikely]] {
            many_names_ = true;
        } else {
            if (named_ == kMostNames) return false;
            const std::size_t size = string_ - 5 - static_cast<std::size_t>(begin - strings_);
            // of an empty name the NUL behind it, and a byte of its size, which is 0 as well
            const std::size_t ends = 3U * begin[4] + begin[3 + size];
            const std::uint64_t kind = std::uint64_t{1} << ((11 * size + ends) % 64);
            if ((level.kinds & kind) != 0) [[unlikely]]
                repeats_names_ |= is_among(around.names.data() + level.first_name,
                                           named_ - level.first_name, begin);
            level.kinds |= kind;
            around.names[named_++] = begin;
        }
        if (!find(':')) return false;
        ++at_;
        skip_blanks();
        return true;
    }

    /// Its size in four bytes, its bytes and a NUL.
    CRAB_INLINE bool string() {
        put('"', string_);
        std::size_t out = string_ + sizeof(std::uint32_t);
        ++at_;
        for (;;) {
            const StringBlock block(text_ + at_);
            block.store(strings_ + out);
            beyond_ascii_ |= block.beyond_ascii();
            const std::uint32_t ends = block.escapes();
            if (ends == 0) {
                at_ += StringBlock::kSize;
                out += StringBlock::kSize;
                continue;
            }
            at_ += StringBlock::first(ends);
            out += StringBlock::first(ends);
            if (text_[at_] == '"') [[likely]]
                break;
            const char meant = text_[at_] == '\\' ? escaped_character(text_[at_ + 1]) : '\0';
            if (meant == '\0') return false;
            strings_[out++] = static_cast<std::uint8_t>(meant);
            at_ += 2;
        }
        const auto size = static_cast<std::uint32_t>(out - string_ - sizeof(std::uint32_t));
        std::memcpy(strings_ + string_, &size, sizeof size);
        strings_[out] = 0;
        string_ = out + 1;
        ++at_;
        return true;
    }

    CRAB_INLINE bool number() {
        constexpr std::size_t kMostDigits = 18;  // of an integer that surely fits
        const bool negative = text_[at_] == '-';
        const std::size_t first = at_ + (negative ? 1 : 0);
        std::size_t end = first;
        std::uint64_t digits = 0;
        for (; is_digit(text_[end]); ++end)
            digits = digits * 10 + static_cast<std::uint64_t>(text_[end] - '0');
        const std::size_t count = end - first;
        if (count == 0 || count > kMostDigits || (text_[first] == '0' && count > 1)) return false;
        const char next = text_[end];
        if (next == '.') {
            const Real real = read_fraction(text_ + first, text_ + end, digits);
            if (real.end == nullptr) return false;
            put('d', 0);
            tape_[size_++] = std::bit_cast<std::uint64_t>(negative ? -real.value : real.value);
            at_ = static_cast<std::size_t>(real.end - text_);
            return true;
        }
        if (next == 'e' || next == 'E' || (negative && digits == 0)) return false;
        put('l', 0);
        tape_[size_++] = negative ? -digits : digits;
        at_ = end;
        return true;
    }

    CRAB_INLINE bool literal() {
        const char first = text_[at_];
        const std::string_view word = first == 't' ? "true" : first == 'f' ? "false" : "null";
        if (std::memcmp(text_ + at_, word.data(), word.size()) != 0) return false;
        put(first, 0);
        at_ += word.size();
        return true;
    }

    const char* const text_;
    std::uint64_t* const tape_;
    std::uint32_t* const begins_;
    std::uint8_t* const strings_;
    std::size_t at_ = 0;  // in the text
    std::size_t size_ = 0;  // of the tape, in words
    std::size_t string_ = 0;  // where the next one goes
    std::size_t named_ = 0;  // names in use, of all levels
    std::uint32_t beyond_ascii_ = 0;
    bool blanks_ = false;
    bool repeats_names_ = false;
    bool many_names_ = false;  // more in one object than are compared with each other
};

#undef CRAB_INLINE

}  // namespace

std::optional<TextFacts> read_in_one_pass(std::string_view text, simdjson::dom::document& document,
                                          std::uint32_t* begins, std::size_t max_depth) {
    Around around;
    Pass pass(text, document, begins);
    if (!pass.run(around, std::min(max_depth, kMostLevels))) return std::nullopt;
    return pass.end(text, document);
}

void find_begins(const simdjson::dom::document& document, std::string_view text,
                 const std::uint32_t* tokens, std::uint32_t* begins) {
    begins[0] = 0;
    for (std::size_t word = 1;; ++word) {
        const char type = static_cast<char>(document.tape[word] >> 56);
        if (type == 'r') {
            begins[word] = static_cast<std::uint32_t>(text.size());
            return;
        }
        while (text[*tokens] == ',' || text[*tokens] == ':') ++tokens;
        begins[word] = *tokens++;
        if (type == 'l' || type == 'u' || type == 'd') ++word;  // the number itself
    }
}

}  // namespace crab::json
