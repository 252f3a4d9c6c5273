#include "cli/client_config.hpp"

#include <cctype>
#include <charconv>

#include <fmt/format.h>

namespace crab::cli {
namespace {

/// Keys, tables, strings, numbers, booleans, lists and inline tables; other scalars, such as dates,
/// are read as texts. Source: TOML 1.0.
class TomlReader {
public:
    explicit TomlReader(std::string_view text) : text_(text) {}

    Result<json::Value> read() {
        json::Value root = json::Value::object();
        json::Value* table = &root;
        for (skip(true); !failed_ && at_ < text_.size(); skip(true)) {
            if (take('[')) {
                table = open_table(root);
            } else {
                member(*table);
            }
        }
        if (failed_) {
            const auto line =
                1 +
                std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n');
            return fail(ErrorCode::kInvalidArgs,
                        fmt::format("line {}: no TOML that is read", line));
        }
        return root;
    }

private:
    /// A file of settings has some hundred, and each is looked for among those of its table.
    static constexpr std::size_t kMostMembers = 10000;
    static constexpr std::size_t kMostDepth = 32;

    void count(std::size_t& what, std::size_t most) {
        if (++what > most) failed_ = true;
    }
    bool take(char c) {
        if (at_ >= text_.size() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    void need(char c) {
        skip(false);
        if (!take(c)) failed_ = true;
    }
    /// Blanks and comments, and line ends where they mean nothing.
    void skip(bool lines) {
        while (at_ < text_.size()) {
            const char c = text_[at_];
            if (c == '#') {
                at_ = std::min(text_.find('\n', at_), text_.size());
            } else if (c == ' ' || c == '\t' || c == '\r' || (lines && c == '\n')) {
                ++at_;
            } else {
                return;
            }
        }
    }
    std::string key() {
        skip(false);
        if (at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'')) return string();
        const std::size_t from = at_;
        while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                      text_[at_] == '_' || text_[at_] == '-'))
            ++at_;
        if (at_ == from) failed_ = true;
        return std::string(text_.substr(from, at_ - from));
    }
    static json::Value& inside(json::Value& table, const std::string& name) {
        json::Value* found = table.find(name);
        if (found == nullptr || (!found->is_object() && !found->is_array()))
            found = &table.set(name, json::Value::object());
        // Of a list of tables the last one is meant.
        if (found->is_array() && !found->as_array()->empty()) return found->as_array()->back();
        return *found;
    }
    json::Value* open_table(json::Value& root) {
        const bool list = take('[');
        json::Value* table = &root;
        std::string name = key();
        count(members_, kMostMembers);
        std::size_t depth = 0;
        for (skip(false); !failed_ && take('.'); skip(false)) {
            count(depth, kMostDepth);
            table = &inside(*table, name);
            name = key();
        }
        need(']');
        if (list) need(']');
        if (failed_) return table;
        if (!list) return &inside(*table, name);
        json::Value* items = table->find(name);
        if (items == nullptr || !items->is_array()) items = &table->set(name, json::Value::array());
        return &items->push_back(json::Value::object());
    }
    void member(json::Value& table) {
        json::Value* holder = &table;
        std::string name = key();
        count(members_, kMostMembers);
        std::size_t depth = 0;
        for (skip(false); !failed_ && take('.'); skip(false)) {
            count(depth, kMostDepth);
            holder = &inside(*holder, name);
            name = key();
        }
        need('=');
        if (!failed_ && holder->is_object()) holder->set(name, value(0));
    }
    json::Value value(int depth) {
        skip(false);
        if (failed_ || at_ >= text_.size() || depth > 32) return failed_ = true, json::Value();
        const char c = text_[at_];
        if (c == '"' || c == '\'') return string();
        if (c == '[') return list(depth);
        if (c == '{') return table(depth);
        const std::size_t end = std::min(text_.find_first_of(",]}#\r\n", at_), text_.size());
        std::string word(text_.substr(at_, end - at_));
        at_ = end;
        while (!word.empty() && (word.back() == ' ' || word.back() == '\t')) word.pop_back();
        if (word == "true" || word == "false") return word == "true";
        std::int64_t number = 0;
        const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), number);
        if (error == std::errc() && stop == word.data() + word.size()) return number;
        double real = 0;
        const auto read = std::from_chars(word.data(), word.data() + word.size(), real);
        if (read.ec == std::errc() && read.ptr == word.data() + word.size()) return real;
        failed_ = failed_ || word.empty();
        return word;
    }
    json::Value list(int depth) {
        json::Value items = json::Value::array();
        ++at_;
        for (skip(true); !failed_ && !take(']'); skip(true)) {
            items.push_back(value(depth + 1));
            skip(true);
            if (!take(',') && (at_ >= text_.size() || text_[at_] != ']')) failed_ = true;
        }
        return items;
    }
    json::Value table(int depth) {
        json::Value members = json::Value::object();
        ++at_;
        for (skip(true); !failed_ && !take('}'); skip(true)) {
            const std::string name = key();
            count(members_, kMostMembers);
            need('=');
            members.set(name, value(depth + 1));
            skip(true);
            if (!take(',') && (at_ >= text_.size() || text_[at_] != '}')) failed_ = true;
        }
        return members;
    }
    std::string string() {
        const char quote = text_[at_];
        const std::string three(3, quote);
        const bool lines = text_.substr(at_, 3) == three;
        const std::string end = lines ? three : std::string(1, quote);
        at_ += end.size();
        if (lines && take('\r')) {}
        if (lines) take('\n');
        std::string out;
        while (at_ < text_.size() && text_.substr(at_, end.size()) != end) {
            const char c = text_[at_++];
            if (c == '\\' && quote == '"') {
                escape(out);
            } else if (c == '\n' && !lines) {
                failed_ = true;
                return out;
            } else {
                out += c;
            }
        }
        if (at_ >= text_.size()) return failed_ = true, out;
        at_ += end.size();
        return out;
    }
    void escape(std::string& out) {
        if (at_ >= text_.size()) return;
        const char c = text_[at_++];
        switch (c) {
            case 'n': out += '\n'; return;
            case 't': out += '\t'; return;
            case 'r': out += '\r'; return;
            case 'b': out += '\b'; return;
            case 'f': out += '\f'; return;
            case 'u': {
                // By the reader of JSON, which knows the form.
                const auto read =
                    json::Value::parse(fmt::format("\"\\u{}\"", text_.substr(at_, 4)));
                at_ = std::min(at_ + 4, text_.size());
                if (read && read->as_string()) {
                    out += *read->as_string();
                } else {
                    failed_ = true;
                }
                return;
            }
            case '\n': skip(true); return;
            default: out += c;
        }
    }

    std::string_view text_;
    std::size_t at_ = 0, members_ = 0;
    bool failed_ = false;
};

}  // namespace

Result<json::Value> read_toml(std::string_view text) {
    return TomlReader(without_mark(text)).read();
}

}  // namespace crab::cli
