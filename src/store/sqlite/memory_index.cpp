#include "store/sqlite/memory_index.hpp"

#include "store/sqlite/sqlite_error.hpp"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace crab::store::sqlite {
namespace {

struct Unicode61 {
    fts5_tokenizer calls{};
    Fts5Tokenizer* instance = nullptr;

    Unicode61() = default;
    Unicode61(Unicode61&&) = delete;
    ~Unicode61() {
        if (instance != nullptr) calls.xDelete(instance);
    }
    int open(fts5_api* api) {
        void* context = nullptr;
        if (const int code = api->xFindTokenizer(api, "unicode61", &context, &calls);
            code != SQLITE_OK)
            return code;
        std::array<const char*, 2> arguments{"remove_diacritics", "2"};
        return calls.xCreate(context, arguments.data(), static_cast<int>(arguments.size()),
                             &instance);
    }
};

using TokenCallback = int(void*, int, const char*, int, int, int);

Result<fts5_api*> find_fts5(Database& database) {
    sqlite3_stmt* statement = nullptr;
    fts5_api* api = nullptr;
    int code = sqlite3_prepare_v2(database.handle(), "SELECT fts5(?1)", -1, &statement, nullptr);
    if (code == SQLITE_OK) {
        sqlite3_bind_pointer(statement, 1, static_cast<void*>(&api), "fts5_api_ptr", nullptr);
        sqlite3_step(statement);
        code = sqlite3_finalize(statement);
    }
    if (code != SQLITE_OK) return fail(error_of(code, database.handle(), database.name()));
    if (api == nullptr)
        return fail(ErrorCode::kInternal, "this SQLite has no FTS5: install one that has it");
    return api;
}

}  // namespace

/// Shared by the tokenizers of one connection.
struct MemoryIndex::Tokens {
    fts5_api* api = nullptr;
    Unicode61 plain;
    std::string prefix;        // of the current scope
    std::size_t seen = 0;
    std::vector<std::uint32_t> counts;

    /// What FTS5 holds as one tokenizer: unicode61, and where to find the scope.
    struct Scoped {
        Unicode61 inner;
        Tokens* tokens = nullptr;
        std::string word;
    };

    /// crab_count(table, n)
    static void count_phrases(const Fts5ExtensionApi* api, Fts5Context* row,
                              sqlite3_context* result, int arguments, sqlite3_value** values) {
        if (arguments != 1) return sqlite3_result_error(result, "crab_count(table, n)", -1);
        std::vector<std::uint32_t>& counts = static_cast<Tokens*>(api->xUserData(row))->counts;
        counts.assign(static_cast<std::size_t>(sqlite3_value_int(values[0])), 0);
        int last = 0;
        for (std::size_t phrase = 0; phrase < counts.size(); ++phrase) {
            Fts5PhraseIter at;
            int column = -1, position = 0;
            if (const int code =
                    api->xPhraseFirst(row, static_cast<int>(phrase), &at, &column, &position);
                code != SQLITE_OK) {
                return sqlite3_result_error_code(result, code);
            }
            for (; column >= 0; api->xPhraseNext(row, &at, &column, &position)) {
                ++counts[phrase];
                last = std::max(last, position);
            }
        }
        sqlite3_result_int(result, last);
    }

    static int create(void* context, const char**, int, Fts5Tokenizer** made) {
        auto scoped = std::make_unique<Scoped>();
        scoped->tokens = static_cast<Tokens*>(context);
        if (const int code = scoped->inner.open(scoped->tokens->api); code != SQLITE_OK)
            return code;
        *made = reinterpret_cast<Fts5Tokenizer*>(scoped.release());
        return SQLITE_OK;
    }
    static void destroy(Fts5Tokenizer* tokenizer) { delete reinterpret_cast<Scoped*>(tokenizer); }
    static int tokenize(Fts5Tokenizer* tokenizer, void* context, int flags, const char* text,
                        int size, TokenCallback* callback) {
        auto* const scoped = reinterpret_cast<Scoped*>(tokenizer);
        struct Forward {
            Scoped* scoped;
            void* context;
            TokenCallback* callback;
        } forward{scoped, context, callback};
        return scoped->inner.calls.xTokenize(
            scoped->inner.instance, &forward, flags, text, size,
            [](void* to, int token_flags, const char* token, int token_size, int start, int end) {
                const auto& target = *static_cast<Forward*>(to);
                std::string& word = target.scoped->word;
                word = target.scoped->tokens->prefix;
                word.append(token, static_cast<std::size_t>(token_size));
                ++target.scoped->tokens->seen;
                return target.callback(target.context, token_flags, word.data(),
                                       static_cast<int>(word.size()), start, end);
            });
    }
};

MemoryIndex::MemoryIndex(std::unique_ptr<Tokens> tokens) : tokens_(std::move(tokens)) {}
MemoryIndex::~MemoryIndex() = default;

Result<std::unique_ptr<MemoryIndex>> MemoryIndex::attach(Database& database) {
    auto api = find_fts5(database);
    if (!api) return fail(std::move(api.error()));
    auto tokens = std::make_unique<Tokens>();
    tokens->api = *api;
    int code = tokens->plain.open(*api);
    fts5_tokenizer calls{
        .xCreate = &Tokens::create, .xDelete = &Tokens::destroy, .xTokenize = &Tokens::tokenize};
    if (code == SQLITE_OK)
        code = (*api)->xCreateTokenizer(*api, "crab_scoped", tokens.get(), &calls, nullptr);
    if (code == SQLITE_OK)
        code = (*api)->xCreateFunction(*api, "crab_count", tokens.get(), &Tokens::count_phrases,
                                       nullptr);
    if (code != SQLITE_OK) return fail(error_of(code, database.handle(), database.name()));
    return std::unique_ptr<MemoryIndex>(new MemoryIndex(std::move(tokens)));
}

void MemoryIndex::use_scope(std::int64_t number) {
    tokens_->prefix = fmt::format("{}:", number);
    tokens_->seen = 0;
}

std::size_t MemoryIndex::words_seen() const { return tokens_->seen; }

std::span<const std::uint32_t> MemoryIndex::last_counts() const { return tokens_->counts; }

std::size_t MemoryIndex::count_words(std::string_view text) const {
    std::size_t count = 0;
    const Unicode61& plain = tokens_->plain;
    plain.calls.xTokenize(plain.instance, &count, FTS5_TOKENIZE_QUERY, text.data(),
                          static_cast<int>(text.size()),
                          [](void* to, int, const char*, int, int, int) {
                              ++*static_cast<std::size_t*>(to);
                              return SQLITE_OK;
                          });
    return count;
}

}  // namespace crab::store::sqlite
