#pragma once

#include <bitset>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace crab::json {

/// A fast path for the patterns of nearly all tool schemas, without an automaton: an optional `^`,
/// ASCII characters and classes with optional quantifiers, an optional `$`; no alternatives, no
/// groups. Only patterns without backtracking: anchored at the start, and no repeated class
/// overlaps the next one.
class PlainPattern {
public:
    /// The pattern in this form; nothing when it is not one of them. `ecma` is a valid ECMA-262
    /// pattern.
    static std::optional<PlainPattern> find(std::string_view ecma);

    bool search(std::string_view text) const;

private:
    using Bytes = std::bitset<256>;
    struct Step {
        Bytes bytes;
        std::uint32_t least = 1;
        std::uint32_t most = 1;
    };
    std::vector<Step> steps_;
    bool to_end_ = false;
};

}  // namespace crab::json
