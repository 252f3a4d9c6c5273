#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace crab::json {

/// Walks the members of an object that a Parser has parsed, in order, and gives each value as the
/// bytes that came: what RawParts does for any text, by where the parser has found the tokens, so
/// that no byte of a value is looked at again. Begins at Root::members() and lives as long as the
/// Root.
class TokenParts {
public:
    /// Goes to the next member; false at the end, and for a value that is no object.
    bool next();
    /// The member's name without its escapes, a view until the following next().
    std::string_view name();
    /// The value as it came, without the white space around it; a view into the text.
    std::string_view value();
    /// The members of the value.
    TokenParts inside() const { return {text_, tokens_, first_}; }
    /// Tells what has walked all of inside(), so that those tokens are not passed again.
    void passed(const TokenParts& inside);

private:
    friend class Root;
    /// `opening`: the token with which the value begins.
    TokenParts(std::string_view text, std::span<const std::uint32_t> tokens, std::size_t opening)
        : text_(text), tokens_(tokens), at_(opening), first_(opening) {}

    char byte_of(std::size_t token) const { return text_[tokens_[token]]; }
    std::string_view bytes(std::size_t first, std::size_t last) const;
    void find_last();

    std::string_view text_;
    std::span<const std::uint32_t> tokens_;  // where each bracket, comma, colon and scalar begins
    std::size_t at_;  // what stands before the next name: the opening brace, or a comma
    std::size_t first_;  // of the value
    std::size_t last_ = 0;  // of the value; 0: nobody has asked
    char before_ = '{';  // what at_ has to be
    std::string unescaped_;
};

}  // namespace crab::json
