#include "json/schema/ecma_regex.hpp"

#include "json/schema/unicode_property.hpp"
#include "json/unicode.hpp"

#include <fmt/format.h>

#include <optional>
#include <vector>

namespace crab::json {
namespace {

// What \s means (ECMA-262 WhiteSpace and LineTerminator) and its complement, as the inside of a
// class.
constexpr std::string_view kSpace =
    "\\x{9}-\\x{D}\\x{20}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}"
    "\\x{3000}\\x{FEFF}";
constexpr std::string_view kNotSpace =
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{"
    "2027}\\x{202A}-\\x{202E}"
    "\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{FEFE}\\x{FF00}-\\x{10FFFF}";
constexpr std::string_view kAnyInLine = "[^\\n\\r\\x{2028}\\x{2029}]";
constexpr std::string_view kNothing = "[^\\x{0}-\\x{10FFFF}]";

bool is_digit(char32_t c) { return c >= '0' && c <= '9'; }
bool is_letter(char32_t c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
int hex_value(char32_t c) {
    return is_digit(c)            ? int(c - '0')
           : c >= 'a' && c <= 'f' ? int(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? int(c - 'A') + 10
                                  : -1;
}

class Translator {
public:
    explicit Translator(std::string_view pattern) : pattern_(pattern) {}

    Result<TranslatedRegex> run() {
        scan_groups();
        alternatives();
        if (!error_ && more()) error("there is a ')' without its '('");
        if (error_)
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("{} (at byte {} of the pattern)", *error_, at_));
        return TranslatedRegex{std::move(out_), backtracking_};
    }

private:
    static constexpr int kMaxDepth = 100;

    bool more() const { return !error_ && at_ < pattern_.size(); }
    char peek(std::size_t ahead = 0) const {
        return at_ + ahead < pattern_.size() ? pattern_[at_ + ahead] : '\0';
    }
    bool starts(std::string_view text) const { return pattern_.substr(at_).starts_with(text); }
    bool skip(std::string_view text) {
        if (!starts(text)) return false;
        at_ += text.size();
        return true;
    }
    void error(std::string_view what) {
        if (!error_) error_ = std::string(what);
    }

    // Back-references may point forward, so captures are counted first.
    void scan_groups() {
        bool in_class = false;
        for (std::size_t at = 0; at < pattern_.size(); ++at) {
            const char c = pattern_[at];
            if (c == '\\') {
                ++at;
            } else if (c == '[') {
                in_class = true;
            } else if (c == ']') {
                in_class = false;
            } else if (c == '(' && !in_class) {
                const std::string_view rest = pattern_.substr(at + 1);
                const bool named =
                    rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!");
                if (named || !rest.starts_with('?')) ++captures_;
                if (named) names_.emplace_back(rest.substr(2, rest.find('>') - 2));
            }
        }
    }

    void alternatives() {
        if (++depth_ > kMaxDepth) return error("groups are nested too deeply");
        while (more() && peek() != ')') {
            if (skip("|")) {
                out_ += '|';
            } else {
                term();
            }
        }
        --depth_;
    }

    void term() {
        if (skip("^")) {
            out_ += "\\A";
            return;
        }
        if (skip("$")) {
            out_ += "\\z";
            return;
        }
        if (skip("\\b")) {
            out_ += "\\b";
            return;
        }
        if (skip("\\B")) {
            out_ += "\\B";
            return;
        }
        if (atom()) quantifier();
    }

    // Writes one atom; false for a look-around, which takes no quantifier.
    bool atom() {
        const char c = peek();
        if (c == '(') return group();
        if (c == '[') {
            bracket();
        } else if (c == '.') {
            ++at_;
            out_ += kAnyInLine;
        } else if (c == '\\') {
            escape();
        } else if (c == '*' || c == '+' || c == '?') {
            error("there is nothing to repeat");
        } else if (c == '{' && quantifier_length() > 0) {
            error("there is nothing to repeat");
        } else {
            literal(next_code_point());
        }
        return true;
    }

    bool group() {
        bool is_assertion = false;
        if (skip("(?=") || skip("(?!") || skip("(?<=") || skip("(?<!")) {
            const std::size_t open = pattern_.rfind('(', at_ - 1);
            out_ += pattern_.substr(open, at_ - open);
            backtracking_ = is_assertion = true;
        } else if (skip("(?:")) {
            out_ += "(?:";
        } else if (skip("(?<")) {
            const std::size_t end = pattern_.find('>', at_);
            if (end == std::string_view::npos || end == at_)
                return error("a group name is not closed"), false;
            at_ = end + 1;
            out_ += '(';
        } else if (skip("(?")) {
            return error("'(?' begins no group that ECMA-262 knows"), false;
        } else {
            ++at_;
            out_ += '(';
        }
        alternatives();
        if (!skip(")")) return error("a group is not closed"), false;
        out_ += ')';
        return !is_assertion;
    }

    // The length of a `{n}`, `{n,}` or `{n,m}` here; 0 when there is none.
    std::size_t quantifier_length() const {
        std::size_t at = at_ + 1;
        const auto digits = [&] {
            const std::size_t from = at;
            while (at < pattern_.size() && is_digit(static_cast<unsigned char>(pattern_[at]))) ++at;
            return at - from;
        };
        if (peek() != '{' || digits() == 0) return 0;
        if (at < pattern_.size() && pattern_[at] == ',') {
            ++at;
            digits();
        }
        return at < pattern_.size() && pattern_[at] == '}' ? at + 1 - at_ : 0;
    }

    void quantifier() {
        const std::size_t length =
            peek() == '*' || peek() == '+' || peek() == '?' ? 1 : quantifier_length();
        if (length == 0) return;
        const std::string_view text = pattern_.substr(at_, length);
        if (text[0] == '{' && !plausible(text))
            return error("a quantifier is out of order or above 65535");
        if (text == "{0,}") {
            out_ += '*';  // one spelling for RE2's sake
        } else {
            out_ += text;
        }
        at_ += length;
        if (skip("?")) out_ += '?';
        if (peek() == '*' || peek() == '+' || peek() == '?' || quantifier_length() > 0)
            error("there is nothing to repeat");
    }

    static bool plausible(std::string_view braces) {
        constexpr unsigned kMost = 65'535;  // PCRE2's limit
        unsigned low = 0, high = 0;
        bool second = false, any = false;
        for (const char c : braces.substr(1)) {
            if (c == ',') {
                second = true;
            } else if (c != '}') {
                unsigned& number = second ? high : low;
                number = number * 10 + static_cast<unsigned>(c - '0');
                any = any || second;
                if (number > kMost) return false;
            }
        }
        return !any || low <= high;
    }

    char32_t next_code_point() {
        const CodePoint next = decode_utf8(pattern_.substr(at_));
        if (!next.valid) error("the pattern is not UTF-8");
        at_ += next.bytes;
        return next.value;
    }

    void literal(char32_t c) {
        if (c < 0x80 && !is_digit(c) && !is_letter(c)) {
            fmt::format_to(std::back_inserter(out_), "\\x{{{:X}}}", static_cast<unsigned>(c));
        } else if (c >= 0xD800 && c <= 0xDFFF) {
            out_ += kNothing;  // a lone surrogate is never in valid UTF-8
        } else {
            append_utf8(out_, c);
        }
    }

    // An escape outside a class.
    void escape() {
        const char c = peek(1);
        if (c >= '1' && c <= '9') return back_reference();
        if (skip("\\k<")) {
            const std::size_t end = pattern_.find('>', at_);
            if (end == std::string_view::npos) return error("a group name is not closed");
            const std::string_view name = pattern_.substr(at_, end - at_);
            at_ = end + 1;
            for (std::size_t i = 0; i < names_.size(); ++i) {
                if (names_[i] == name) return named_reference(i);
            }
            return error("a back-reference names no group");
        }
        std::string inside;
        if (const auto single = class_escape(inside)) return literal(*single);
        if (error_) return;
        out_ += '[' + inside + ']';
    }

    void back_reference() {
        ++at_;
        unsigned number = 0;
        while (is_digit(static_cast<unsigned char>(peek())) && number < 1'000)
            number = number * 10 + static_cast<unsigned>(pattern_[at_++] - '0');
        if (number > captures_) return error("a back-reference is beyond the last group");
        backtracking_ = true;
        fmt::format_to(std::back_inserter(out_), "\\g{{{}}}", number);
    }

    // Names become numbers, so that RE2 and PCRE2 see plain groups.
    void named_reference(std::size_t index) {
        std::size_t seen = 0;
        unsigned number = 0;
        for (std::size_t at = 0; at < pattern_.size(); ++at) {
            if (pattern_[at] == '\\') {
                ++at;
                continue;
            }
            if (pattern_[at] != '(') continue;
            const std::string_view rest = pattern_.substr(at + 1);
            const bool named =
                rest.starts_with("?<") && !rest.starts_with("?<=") && !rest.starts_with("?<!");
            if (named || !rest.starts_with('?')) ++number;
            if (named && seen++ == index) break;
        }
        backtracking_ = true;
        fmt::format_to(std::back_inserter(out_), "\\g{{{}}}", number);
    }

    // Reads an escape that may stand in a class: gives the one code point it means, or nothing
    // after appending a set to `inside`.
    std::optional<char32_t> class_escape(std::string& inside) {
        ++at_;
        if (at_ >= pattern_.size()) return error("the pattern ends in a backslash"), std::nullopt;
        const char32_t c = next_code_point();
        switch (c) {
            case 'd': inside += "0-9"; return std::nullopt;
            case 'D': inside += "\\x{0}-\\x{2F}\\x{3A}-\\x{10FFFF}"; return std::nullopt;
            case 'w': inside += "0-9A-Z_a-z"; return std::nullopt;
            case 'W':
                inside += "\\x{0}-\\x{2F}\\x{3A}-\\x{40}\\x{5B}-\\x{5E}\\x{60}\\x{7B}-\\x{10FFFF}";
                return std::nullopt;
            case 's': inside += kSpace; return std::nullopt;
            case 'S': inside += kNotSpace; return std::nullopt;
            case 'p':
            case 'P': property(inside, c == 'P'); return std::nullopt;
            case 't': return 0x09;
            case 'n': return 0x0A;
            case 'v': return 0x0B;
            case 'f': return 0x0C;
            case 'r': return 0x0D;
            case 'c': return control();
            case 'x': return hex_digits(2);
            case 'u': return unicode_escape();
            case '0':
                if (is_digit(static_cast<unsigned char>(peek())))
                    return error("octal escapes are not allowed"), std::nullopt;
                return 0;
            default: break;
        }
        if (is_letter(c) || is_digit(c))
            return error(fmt::format("'\\{}' is not an escape of ECMA-262", static_cast<char>(c))),
                   std::nullopt;
        return c;
    }

    std::optional<char32_t> control() {
        const char c = peek();
        if (!is_letter(static_cast<unsigned char>(c)))
            return error("'\\c' wants a letter"), std::nullopt;
        ++at_;
        return static_cast<char32_t>(c & 0x1F);
    }

    std::optional<char32_t> hex_digits(int count) {
        char32_t value = 0;
        for (int i = 0; i < count; ++i, ++at_) {
            const int digit = hex_value(static_cast<unsigned char>(peek()));
            if (digit < 0) return error("a hexadecimal escape is too short"), std::nullopt;
            value = value * 16 + static_cast<char32_t>(digit);
        }
        return value;
    }

    std::optional<char32_t> unicode_escape() {
        if (skip("{")) {
            char32_t value = 0;
            if (peek() == '}') error("a hexadecimal escape is too short");
            while (more() && peek() != '}') {
                const int digit = hex_value(static_cast<unsigned char>(peek()));
                if (digit < 0) return error("a hexadecimal escape is malformed"), std::nullopt;
                value = value * 16 + static_cast<char32_t>(digit);
                if (value > 0x10FFFF) return error("a code point is above U+10FFFF"), std::nullopt;
                ++at_;
            }
            if (!skip("}")) return error("a hexadecimal escape is not closed"), std::nullopt;
            return value;
        }
        const auto high = hex_digits(4);
        if (!high || *high < 0xD800 || *high > 0xDBFF || !starts("\\u")) return high;
        const std::size_t back = at_;
        at_ += 2;
        const auto low = peek() == '{' ? std::nullopt : hex_digits(4);
        if (low && *low >= 0xDC00 && *low <= 0xDFFF)
            return 0x10000 + ((*high - 0xD800) << 10) + (*low - 0xDC00);
        at_ = back;  // the second escape is a character of its own
        return high;
    }

    void property(std::string& inside, bool negated) {
        const std::size_t end = pattern_.find('}', at_);
        if (!skip("{") || end == std::string_view::npos)
            return error("'\\p' wants a property in braces");
        const std::string_view name = pattern_.substr(at_, end - at_);
        at_ = end + 1;
        if (name == "ASCII") {
            inside += negated ? "\\x{80}-\\x{10FFFF}" : "\\x{0}-\\x{7F}";
            return;
        }
        const auto found = find_unicode_property(name);
        if (!found)
            return error(fmt::format("'{}' is not a Unicode property that is known here", name));
        backtracking_ = backtracking_ || found->only_pcre;
        fmt::format_to(std::back_inserter(inside), "\\{}{{{}}}", negated ? 'P' : 'p', found->name);
    }

    static void append_class_atom(std::string& inside, char32_t c) {
        if (c >= 0xD800 && c <= 0xDFFF) return;
        fmt::format_to(std::back_inserter(inside), "\\x{{{:X}}}", static_cast<unsigned>(c));
    }

    // One end of a range: a code point, or nothing after a set such as \d.
    std::optional<char32_t> class_atom(std::string& inside) {
        if (peek() != '\\') return next_code_point();
        if (peek(1) == 'b') {
            at_ += 2;
            return 0x08;
        }
        return class_escape(inside);
    }

    void bracket() {
        ++at_;
        const bool negated = skip("^");
        std::string inside;
        while (more() && peek() != ']') {
            const auto low = class_atom(inside);
            if (error_) return;
            if (!low || peek() != '-' || peek(1) == ']' || at_ + 1 >= pattern_.size()) {
                if (low) append_class_atom(inside, *low);
                continue;
            }
            ++at_;
            const auto high = class_atom(inside);
            if (error_) return;
            if (high && *high < *low) return error("a range in a class is out of order");
            append_class_atom(inside, *low);
            if (high) {
                if (*low < 0xD800 || *low > 0xDFFF) inside += '-';
                append_class_atom(inside, *high >= 0xD800 && *high <= 0xDFFF ? 0xD7FF : *high);
            } else {
                append_class_atom(inside, '-');
            }
        }
        if (!skip("]")) return error("a class is not closed");
        if (inside.empty()) {
            out_ += negated ? "[\\x{0}-\\x{10FFFF}]" : kNothing;
        } else {
            out_ += (negated ? "[^" : "[") + inside + ']';
        }
    }

    std::string_view pattern_;
    std::size_t at_ = 0;
    std::string out_;
    std::vector<std::string_view> names_;
    unsigned captures_ = 0;
    int depth_ = 0;
    bool backtracking_ = false;
    std::optional<std::string> error_;
};

}  // namespace

Result<TranslatedRegex> translate_ecma_regex(std::string_view pattern) {
    return Translator(pattern).run();
}

}  // namespace crab::json
