#include "json/token_parts.hpp"

#include "json/raw_parts.hpp"

namespace crab::json {
namespace {

bool is_blank(char byte) { return byte == ' ' || byte == '\t' || byte == '\n' || byte == '\r'; }

}  // namespace

bool TokenParts::next() {
    if (before_ == ',') {
        find_last();
        at_ = last_ + 1;
    }
    if (at_ + 1 >= tokens_.size() || byte_of(at_) != before_ || byte_of(at_ + 1) != '"')
        return false;
    first_ = at_ + 3;  // behind the name and its colon
    last_ = 0;
    before_ = ',';
    return true;
}

std::string_view TokenParts::value() {
    find_last();
    return bytes(first_, last_);
}

void TokenParts::passed(const TokenParts& inside) {
    if (byte_of(first_) != '{') return;
    last_ = inside.before_ == ',' ? inside.at_ : inside.at_ + 1;  // of `{}`, at_ is the brace
}

std::string_view TokenParts::name() {
    const std::string_view raw = bytes(first_ - 2, first_ - 2);
    const std::string_view inside = raw.substr(1, raw.size() - 2);
    if (!inside.contains('\\')) return inside;
    unescaped_ = *read_raw_string(raw);
    return unescaped_;
}

void TokenParts::find_last() {
    if (last_ != 0) return;
    std::size_t last = first_;
    std::size_t depth = 0;
    do {
        // the bit 0x20 tells `{` from `[` and `}` from `]`, and makes neither of another token
        const int byte = byte_of(last++) | 0x20;
        depth += byte == '{' ? 1 : 0;
        depth -= byte == '}' ? 1 : 0;
    } while (depth > 0);
    last_ = last - 1;
}

/// From the beginning of one token to the end of another, behind which there is a third one.
std::string_view TokenParts::bytes(std::size_t first, std::size_t last) const {
    std::size_t end = tokens_[last + 1];
    while (is_blank(text_[end - 1])) --end;
    return text_.substr(tokens_[first], end - tokens_[first]);
}

}  // namespace crab::json
