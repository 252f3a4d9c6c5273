#pragma once

#include "json/element.hpp"

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace crab::json {

/// The text that a parsed value comes from, and where in it each value begins; two pointers and a
/// size, to be copied.
class Source {
public:
    Source(std::string_view text, const std::uint32_t* begins) : text_(text), begins_(begins) {}

    /// The bytes of a value of this text, as they came.
    std::string_view raw(Element value) const;

private:
    std::string_view text_;
    const std::uint32_t* begins_;  // by word of simdjson's tape
};

/// Walks the members of an object that a Parser has parsed, in order, and gives each value as the
/// bytes that came: what RawParts does for any text, by where the parser has found the tokens, so
/// that no byte of a value is looked at again. Begins at Root::members() and lives as long as the
/// Root.
class TokenParts {
public:
    /// Goes to the next member; false at the end, and for a value that is no object.
    bool next();
    /// The member's name without its escapes; it lives as long as the Root.
    std::string_view name() const { return at_.key(); }
    /// The value as it came, without the white space around it; a view into the text.
    std::string_view value() const { return source_.raw(at_.value()); }
    /// The members of the value.
    TokenParts inside() const { return {source_, at_.value()}; }
    /// As RawParts has it; here the end is known already.
    void passed(const TokenParts&) {}

private:
    friend class Root;
    TokenParts(Source source, Element object);

    Source source_;
    Object::iterator at_, end_;
    bool begun_ = false;
};

}  // namespace crab::json
