#pragma once

#include "hosts/memory/query_terms.hpp"

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store::sqlite {

/// Query terms as expressions of FTS5. Each term is one quoted phrase, so nothing of a caller's
/// text is read as syntax.
struct MemoryExpression {
    struct Phrase {
        std::string text;
        bool is_prefix = false;
        friend bool operator==(const Phrase&, const Phrase&) = default;
    };
    std::vector<Phrase> wanted;        ///< all must occur
    std::string match;  ///< for MATCH: wanted ones and not excluded ones; empty without wanted ones
    std::string excluded;  ///< for NOT IN: any of the excluded ones; empty without any
};

/// Terms without a word (by `count_words`) mean nothing and are left out, repeated ones too.
MemoryExpression make_expression(std::span<const memory::QueryTerm> terms,
                                 const std::function<std::size_t(std::string_view)>& count_words);

}  // namespace crab::store::sqlite
