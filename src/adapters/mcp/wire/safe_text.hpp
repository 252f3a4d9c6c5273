#pragma once

#include <cstddef>
#include <string>
#include <string_view>

/// Texts of upstreams that people and models read. Source: docs/protocols/mcp.md, section 8,
/// "Text". What counts as which character: libunistring 1.0, Unicode 14.
namespace crab::mcp {

struct CleanText {
    std::string text;
    std::size_t removed = 0;  ///< characters
};

/// `utf8` without what a reader cannot see and a model does: controls other than LF and TAB, bidi
/// controls, zero-width and tag characters, variation selectors and other default-ignorable ones,
/// and what is not assigned. What is not UTF-8 is removed, too.
CleanText clean_text(std::string_view utf8);

/// What a name looks like (UTS 39, section 4, for characters that look like those of listed names;
/// the others stay as NFKC has them): two names with one skeleton can be taken for each other.
std::string skeleton(std::string_view utf8);

}  // namespace crab::mcp
