#include "cli/pair_flags.hpp"

#include <algorithm>
#include <array>
#include <string_view>

namespace crab::cli {
namespace {

constexpr std::array<std::string_view, 9> kWithValue{
    "admin-socket",       "socket",       "config",      "timeout",    "remote-key",
    "gateway-public-key", "component-id", "listen-addr", "listen-path"};
constexpr std::array<std::string_view, 2> kAlone{"replace", "help"};

/// The name of a flag of `crab peers pair` without its dashes and value; empty for any other word.
std::string_view flag_name(std::string_view word) {
    std::string_view name = word;
    if (!name.starts_with('-')) return {};
    name.remove_prefix(name.starts_with("--") ? 2 : 1);
    name = name.substr(0, name.find('='));
    const bool known = std::ranges::find(kWithValue, name) != kWithValue.end() ||
                       std::ranges::find(kAlone, name) != kAlone.end();
    return known ? name : std::string_view();
}

bool takes_next(std::string_view word) {
    return word.find('=') == std::string_view::npos &&
           std::ranges::find(kWithValue, flag_name(word)) != kWithValue.end();
}

}  // namespace

std::vector<std::string> pair_flags_last(const std::vector<std::string>& arguments) {
    std::vector<std::string> words, flags;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string_view word = arguments[i];
        if (word == "--") {
            words.insert(words.end(), arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                         arguments.end());
            break;
        }
        if (flag_name(word).empty()) {
            words.emplace_back(word);
            continue;
        }
        flags.push_back("--" + std::string(word.substr(word.starts_with("--") ? 2 : 1)));
        if (takes_next(word) && i + 1 < arguments.size()) flags.push_back(arguments[++i]);
    }
    const bool of_peers = words.size() > 1 && words[0] == "peers" && words[1] == "pair";
    if (words.empty() || (words[0] != "pair" && !of_peers)) return arguments;
    words.insert(words.end(), flags.begin(), flags.end());
    return words;
}

}  // namespace crab::cli
