#include "agent/tool_names.hpp"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace crab::agent {
namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_fit(char c) { return is_letter(c) || (c >= '0' && c <= '9') || c == '-'; }
bool is_fit(std::string_view name) {
    return !name.empty() && name.size() <= ToolNames::kMost && is_letter(name.front()) &&
           std::ranges::all_of(name, [](char c) { return is_fit(c); });
}

}  // namespace

std::string fit_for_models(std::string_view text) {
    std::string fit(text);
    if (fit.empty() || (is_fit(fit.front()) && !is_letter(fit.front()))) fit.insert(0, 1, '_');
    fit.resize(std::min(fit.size(), ToolNames::kMost));
    std::ranges::replace_if(fit, [](char c) { return !is_fit(c); }, '_');
    return fit;
}

ToolNames::ToolNames(std::span<const std::string_view> names) {
    std::vector<std::string_view> unfit;
    std::ranges::copy_if(names, std::back_inserter(unfit),
                         [](std::string_view name) { return !is_fit(name); });
    if (unfit.empty()) return;
    std::set<std::string, std::less<>> taken;
    for (const std::string_view name : names) {
        if (is_fit(name)) taken.emplace(name);
    }
    std::ranges::sort(unfit);
    // the last one behind each form, so that a thousand names that begin alike are not tried
    // against each other
    std::unordered_map<std::string, int> numbers;
    for (const std::string_view name : unfit) {
        const std::string base = fit_for_models(name);
        std::string told = base;
        for (int& last = numbers.try_emplace(base, 1).first->second; !taken.insert(told).second;) {
            const int number = ++last;
            const std::string suffix = fmt::format("_{}", number);
            told = base.substr(0, kMost - suffix.size()) + suffix;
        }
        meant_.emplace(told, name);
        told_.emplace(name, std::move(told));
    }
}

std::string ToolNames::to_model(std::string_view name) const {
    const auto it = told_.find(name);
    if (it != told_.end()) return it->second;
    return fit_for_models(name);
}

std::string ToolNames::to_gateway(std::string_view told) const {
    const auto it = meant_.find(told);
    return it != meant_.end() ? it->second : std::string(told);
}

}  // namespace crab::agent
