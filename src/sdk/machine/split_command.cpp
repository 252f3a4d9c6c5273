#include "sdk/machine/split_command.hpp"

namespace crab::sdk {

Result<std::vector<std::string>> split_command(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    bool in_word = false;
    char quote = '\0';
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        if (quote == '\'') {
            if (c == '\'') {
                quote = '\0';
            } else {
                word += c;
            }
        } else if (c == '\\') {
            if (++i == line.size())
                return fail(ErrorCode::kInvalidArgs, "the command ends with a backslash");
            // Inside double quotes a backslash is itself before most characters (POSIX
            // Shell, 2.2.3).
            if (quote == '"' && line[i] != '"' && line[i] != '\\' && line[i] != '$' &&
                line[i] != '`')
                word += '\\';
            word += line[i];
            in_word = true;
        } else if (c == quote && quote != '\0') {
            quote = '\0';
        } else if (quote == '\0' && (c == '\'' || c == '"')) {
            quote = c;
            in_word = true;
        } else if (quote == '\0' && (c == ' ' || c == '\t' || c == '\n')) {
            if (in_word) words.push_back(std::move(word));
            word.clear();
            in_word = false;
        } else {
            word += c;
            in_word = true;
        }
    }
    if (quote != '\0') return fail(ErrorCode::kInvalidArgs, "the command has an open quote");
    if (in_word) words.push_back(std::move(word));
    if (words.empty() || words.front().empty())
        return fail(ErrorCode::kInvalidArgs, "the command is empty");
    return words;
}

}  // namespace crab::sdk
