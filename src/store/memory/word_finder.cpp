#include "store/memory/word_finder.hpp"

#include <sqlite3.h>

#include <array>

namespace crab::store {

/// FTS5 gives its tokenizers through a database only; this one is empty.
struct WordFinder::Tokenizer {
    sqlite3* database = nullptr;
    fts5_tokenizer calls{};
    Fts5Tokenizer* instance = nullptr;

    Tokenizer() = default;
    Tokenizer(Tokenizer&&) = delete;
    ~Tokenizer() {
        if (instance != nullptr) calls.xDelete(instance);
        sqlite3_close(database);
    }

    bool open() {
        if (sqlite3_open_v2(":memory:", &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_MEMORY,
                            nullptr) != SQLITE_OK)
            return false;
        fts5_api* api = nullptr;
        sqlite3_stmt* statement = nullptr;
        if (sqlite3_prepare_v2(database, "SELECT fts5(?1)", -1, &statement, nullptr) != SQLITE_OK)
            return false;
        sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
        sqlite3_step(statement);
        sqlite3_finalize(statement);
        void* context = nullptr;
        if (api == nullptr || api->xFindTokenizer(api, "unicode61", &context, &calls) != SQLITE_OK)
            return false;
        std::array<const char*, 2> arguments{"remove_diacritics", "2"};
        return calls.xCreate(context, arguments.data(), static_cast<int>(arguments.size()),
                             &instance) == SQLITE_OK;
    }
};

WordFinder::WordFinder(std::unique_ptr<Tokenizer> tokenizer) : tokenizer_(std::move(tokenizer)) {}
WordFinder::~WordFinder() = default;

Result<std::unique_ptr<WordFinder>> WordFinder::make() {
    auto tokenizer = std::make_unique<Tokenizer>();
    if (!tokenizer->open())
        return fail(ErrorCode::kInternal, "this SQLite has no FTS5: install one that has it");
    return std::unique_ptr<WordFinder>(new WordFinder(std::move(tokenizer)));
}

std::vector<std::string> WordFinder::words_of(std::string_view text) const {
    std::vector<std::string> words;
    tokenizer_->calls.xTokenize(tokenizer_->instance, &words, FTS5_TOKENIZE_DOCUMENT, text.data(),
                                static_cast<int>(text.size()),
                                [](void* to, int, const char* word, int size, int, int) {
                                    static_cast<std::vector<std::string>*>(to)->emplace_back(
                                        word, static_cast<std::size_t>(size));
                                    return SQLITE_OK;
                                });
    return words;
}

}  // namespace crab::store
