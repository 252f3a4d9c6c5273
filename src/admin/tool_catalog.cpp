#include "admin/tool_catalog.hpp"

#include "base/ascii.hpp"
#include "base/cut_text.hpp"
#include "base/glob.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace crab::admin {
namespace {

constexpr std::size_t kKeptAnswers = 8;
constexpr std::size_t kSearchedBytes = 160;  // of a description

/// A question, taken apart.
class Matcher {
public:
    explicit Matcher(const ToolCatalog::Question& question)
        : source_(question.source), state_(question.state) {
        const std::string text = lower_case(question.text);
        for (std::string_view rest = trim(text); !rest.empty(); rest = trim(rest)) {
            const std::string_view word = rest.substr(0, rest.find_first_of(" \t"));
            rest.remove_prefix(word.size());
            if (word.find_first_of("*?") == std::string_view::npos)
                words_.emplace_back(word);
            else
                patterns_.emplace_back(std::string(word));
        }
    }

    bool matches(const ToolCatalog::Row& row) const {
        if (!state_.empty() && row.state != state_) return false;
        if (!source_.empty() && !source_.matches(row.source)) return false;
        const auto is_in = [&](const std::string& word) { return row.words.contains(word); };
        if (!std::ranges::all_of(words_, is_in)) return false;
        if (patterns_.empty()) return true;
        const std::string name = lower_case(row.name), qualified = lower_case(row.qualified_name);
        return std::ranges::all_of(patterns_, [&](const Glob& pattern) {
            return pattern.matches(name) || pattern.matches(qualified);
        });
    }

private:
    const Glob source_;
    const std::string state_;
    std::vector<std::string> words_;
    std::vector<Glob> patterns_;
};

}  // namespace

void ToolCatalog::refresh(const core::Principal& principal) {
    const std::uint64_t registry = sources_.pipeline.list_number();
    std::string key = sources_.pipeline.listing_key(principal);
    std::vector<Missing> now = missing();
    if (generation_ != 0 && registry == registry_ && key == key_ && now == missing_) return;
    registry_ = registry;
    key_ = std::move(key);
    missing_ = std::move(now);
    ++generation_;
    build(principal);
}

/// Those of devices that are connected; of several connections of one device each reason once.
std::vector<ToolCatalog::Missing> ToolCatalog::missing() const {
    std::vector<Missing> all;
    for (const Presence& live : sources_.presence()) {
        for (const Presence::Refused& refused : live.refused)
            all.push_back({.name = refused.tool,
                           .device = live.device,
                           .state = "rejected",
                           .reason = fmt::format("{}: {}", refused.code, refused.reason)});
        if (!sources_.waiting_tools) continue;
        for (std::string& waiting : sources_.waiting_tools(live.device))
            all.push_back({.name = std::move(waiting),
                           .device = live.device,
                           .state = "held_back",
                           .reason = fmt::format("new or changed, and waits for an approval: crab "
                                                 "devices approve {}",
                                                 live.device)});
    }
    const auto by_text = [](const Missing& each) {
        return std::tie(each.name, each.device, each.state, each.reason);
    };
    std::ranges::sort(all, {}, by_text);
    const auto repeated = std::ranges::unique(all);
    all.erase(repeated.begin(), repeated.end());
    return all;
}

void ToolCatalog::build(const core::Principal& principal) {
    answered_.clear();
    rows_.clear();
    const auto listed = sources_.pipeline.list(principal);
    rows_.reserve(listed.size() + missing_.size());
    for (const auto& each : listed) add(each);
    for (const Missing& each : missing_) add(each);
    const auto by_name = [](const Row& row) { return std::tie(row.name, row.source, row.state); };
    if (!missing_.empty()) std::ranges::sort(rows_, {}, by_name);
}

void ToolCatalog::add(const core::RegistrySnapshot::Listed& listed) {
    const auto& [name, tool] = listed;
    const bool ambiguous = tool->has_plain_name() && name != tool->spec.name;
    Row& row = rows_.emplace_back();
    row.name = name;
    row.qualified_name = tool->unique_name;
    row.source = tool->source_text;
    row.state = ambiguous ? "ambiguous" : "offered";
    if (ambiguous)
        row.reason =
            fmt::format("others have the name {} too; call it by this one", tool->spec.name);
    row.tool = tool;
    row.words = lower_case(fmt::format("{}\n{}\n{}\n{}", name, tool->unique_name, tool->spec.title,
                                       cut_text(tool->spec.description, kSearchedBytes)));
}

void ToolCatalog::add(const Missing& missing) {
    Row& row = rows_.emplace_back();
    row.name = missing.name;
    row.qualified_name = fmt::format("{}__{}", missing.device, missing.name);
    row.source = fmt::format("device/{}", missing.device);
    row.state = missing.state;
    row.reason = missing.reason;
    row.words = lower_case(row.qualified_name);
}

std::span<const std::uint32_t> ToolCatalog::find(const Question& question) {
    const auto known = std::ranges::find(answered_, question, &Answered::question);
    if (known != answered_.end()) {
        std::rotate(answered_.begin(), known, known + 1);
        return answered_.front().places;
    }
    const Matcher matcher(question);
    std::vector<std::uint32_t> places;
    for (std::uint32_t place = 0; place < rows_.size(); ++place)
        if (matcher.matches(rows_[place])) places.push_back(place);
    if (answered_.size() == kKeptAnswers) answered_.pop_back();
    answered_.push_front({question, std::move(places)});
    return answered_.front().places;
}

const ToolCatalog::Row* ToolCatalog::find_name(std::string_view name) const {
    auto place = std::ranges::lower_bound(rows_, name, {}, &Row::name);
    if (place == rows_.end() || place->name != name)
        place = std::ranges::find(rows_, name, &Row::qualified_name);
    return place == rows_.end() ? nullptr : &*place;
}

}  // namespace crab::admin
