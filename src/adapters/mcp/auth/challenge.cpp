#include "adapters/mcp/auth/challenge.hpp"

#include "net/codec/http_text.hpp"

#include <algorithm>
#include <optional>

namespace crab::mcp {
namespace {

/// Goes through `scheme [token68] / name=value, …`.
class Cursor {
public:
    explicit Cursor(std::string_view text) : rest_(text) {}

    bool ended() const { return rest_.empty(); }
    void skip_blanks_and_commas() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t,"), rest_.size()));
    }
    bool take(char c) {
        skip_blanks();
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        skip_blanks();
        return true;
    }
    std::string_view word() {
        const std::size_t end = std::min(rest_.find_first_of(" \t,=\""), rest_.size());
        const std::string_view taken = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return taken;
    }
    /// A token, or a quoted string without its quotes and escapes.
    std::string value() {
        if (!take('"')) return std::string(word());
        std::string text;
        while (!rest_.empty()) {
            char c = take_one();
            if (c == '"') break;
            if (c == '\\' && !rest_.empty()) c = take_one();
            text += c;
        }
        return text;
    }
    void skip_one() { rest_.remove_prefix(1); }

private:
    void skip_blanks() {
        rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t"), rest_.size()));
    }
    char take_one() {
        const char c = rest_.front();
        rest_.remove_prefix(1);
        return c;
    }
    std::string_view rest_;
};

void set_once(std::string& member, std::string value) {
    if (member.empty()) member = std::move(value);
}

}  // namespace

BearerChallenge read_challenge(std::string_view field) {
    BearerChallenge read;
    bool is_bearer = false;
    for (Cursor cursor(field); cursor.skip_blanks_and_commas(), !cursor.ended();) {
        const std::string_view word = cursor.word();
        if (word.empty()) {
            cursor.skip_one();  // a stray `=` or `"`
        } else if (!cursor.take('=')) {
            is_bearer = equals_lower(word, "bearer");  // a scheme
        } else {
            std::string value = cursor.value();
            if (!is_bearer) continue;
            if (equals_lower(word, "resource_metadata"))
                set_once(read.resource_metadata, std::move(value));
            else if (equals_lower(word, "error"))
                set_once(read.error, std::move(value));
            else if (equals_lower(word, "scope"))
                set_once(read.scope, std::move(value));
        }
    }
    return read;
}

std::vector<std::string> scopes_of(std::string_view scope) {
    std::vector<std::string> words;
    while (!scope.empty()) {
        const std::size_t end = std::min(scope.find(' '), scope.size());
        if (end != 0) words.emplace_back(scope.substr(0, end));
        scope.remove_prefix(std::min(end + 1, scope.size()));
    }
    return words;
}

std::string union_of_scopes(std::string_view first, std::string_view second) {
    std::vector<std::string> all = scopes_of(first);
    for (std::string& each : scopes_of(second)) {
        if (std::ranges::find(all, each) == all.end()) all.push_back(std::move(each));
    }
    std::string text;
    for (const std::string& each : all) {
        if (!text.empty()) text += ' ';
        text += each;
    }
    return text;
}

}  // namespace crab::mcp
