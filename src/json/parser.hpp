#pragma once

#include "base/result.hpp"
#include "json/element.hpp"
#include "json/single_pass.hpp"
#include "json/token_parts.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace crab::json {

/// simdjson counts array items in 24 bits; a larger text could have more.
constexpr std::size_t kMostBytes = std::size_t{32} << 20;

/// Limits of one text.
struct Limits {
    std::size_t max_bytes = std::size_t{8} << 20;  ///< at most kMostBytes, which larger values mean
    /// Arrays and objects inside each other, empty ones not counted: `[[1]]` is 2 deep
    std::size_t max_depth = 64;
};

/// One parsed text. It views the parser and the caller's text: use it before the parser's next
/// parse() and while the text lives.
class Root {
public:
    Element element() const { return element_; }

    /// None of a text that is no object.
    TokenParts members() const { return {source_, element_}; }
    /// The bytes of a value of this text exactly as the caller wrote them, without the white space
    /// around it; a view into the text given to parse(), ready to be spliced into another frame.
    std::string_view raw(Element value) const { return source_.raw(value); }
    /// The same of a top-level member. Of several members with the name it is the first, as in
    /// get(). Nothing when absent or when the text is not an object.
    std::optional<std::string_view> raw_member(std::string_view name) const;

    /// Whether there is no white space between its tokens, so that what raw() returns has none.
    bool is_compact() const { return facts_.compact; }
    /// Whether some object, at any depth, has two members of one name. Free, for it is known since
    /// the text was read.
    bool repeats_names() const { return facts_.repeats_names; }
    /// What json::find_duplicate() says of the whole text.
    std::optional<std::string> find_duplicate() const;

private:
    friend class Parser;
    Root(Element element, Source source, TextFacts facts)
        : element_(element), source_(source), facts_(facts) {}

    Element element_;
    Source source_;
    TextFacts facts_;
};

class Parser;

/// An element of a shared parser: valid until the parser parses another text or releases its
/// memory, which holds() detects. Check holds() after any suspension. The parser must outlive it.
class Borrowed {
public:
    bool holds() const;
    /// Throws std::logic_error when it is no longer valid.
    Element element() const;

private:
    friend class Parser;
    Borrowed(Element element, const Parser& parser, std::uint64_t turn)
        : element_(element), parser_(&parser), turn_(turn) {}

    Element element_;
    const Parser* parser_;
    std::uint64_t turn_;
};

/// Parses one text at a time (RFC 8259, strict UTF-8), reusing its memory: after the largest text
/// so far nothing is allocated. Not thread-safe; keep one per thread. About 14 times the largest
/// text of memory, until shrink(); 20 times once a text was rare (single_pass.hpp).
class Parser {
public:
    explicit Parser(Limits limits = {})
        : limits_{std::min(limits.max_bytes, kMostBytes), limits.max_depth} {}

    /// Parses `text`, which need not be padded; makes every earlier Root of this parser invalid.
    /// An integer beyond 64 bits becomes the nearest double (within one unit in the last place).
    /// Errors: kOversize above `max_bytes`; kInvalidArgs for what is not JSON or UTF-8, too deep,
    /// or a number beyond a double.
    Result<Root> parse(std::string_view text);
    /// Releases the memory of a large text; if there was any, all earlier Roots become invalid.
    void shrink();
    /// For keeping an element of the last text while others use this parser.
    Borrowed lend(Element element) const { return {element, *this, turn_}; }

private:
    friend class Borrowed;
    Result<void> reserve(std::size_t bytes);
    Result<TextFacts> parse_rare(std::size_t bytes);
    bool shorten_long_integers(std::size_t bytes);

    Limits limits_;
    simdjson::dom::parser parser_;
    std::unique_ptr<char[]> padded_;  // capacity_ and kPadding bytes
    std::unique_ptr<std::uint32_t[]> begins_;  // by word of the tape
    std::size_t capacity_ = 0;
    std::uint64_t turn_ = 0;  // grows whenever earlier elements become invalid
};

inline bool Borrowed::holds() const { return parser_->turn_ == turn_; }

}  // namespace crab::json
