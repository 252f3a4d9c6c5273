#pragma once

#include "base/result.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace crab::store {

/// Finds the words of texts: unicode61 of SQLite without diacritics, in small letters, so that a
/// query finds the same in every engine. Not thread-safe.
class WordFinder {
public:
    /// Errors: kInternal when this SQLite has no FTS5.
    static Result<std::unique_ptr<WordFinder>> make();
    ~WordFinder();

    /// In their order; `text` is UTF-8.
    std::vector<std::string> words_of(std::string_view text) const;

private:
    struct Tokenizer;
    explicit WordFinder(std::unique_ptr<Tokenizer> tokenizer);

    std::unique_ptr<Tokenizer> tokenizer_;
};

}  // namespace crab::store
