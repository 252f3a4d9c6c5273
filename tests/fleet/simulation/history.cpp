#include "history.hpp"

#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

namespace crab::fleet::simulation {
namespace {

std::string_view name_of(What what) {
    switch (what) {
        case What::kInvoke: return "invoke";
        case What::kOk: return "ok";
        case What::kFail: return "fail";
        case What::kUnknown: return "unknown";
        case What::kCommit: return "commit";
        case What::kAdopt: return "adopt";
        case What::kUnstored: return "unstored";
        case What::kStart: return "start";
        case What::kEnd: return "end";
        case What::kFault: return "fault";
    }
    return "";
}

double seconds_of(SteadyTime at) {
    return std::chrono::duration<double>(at.time_since_epoch()).count();
}

/// All that happened under one key, in order.
struct OfKey {
    const std::string& key;
    KeyKind kind;
    std::vector<const Happened*> all;
    std::vector<std::string>& broken;

    void say(const Happened& at, std::string_view rule) const {
        broken.push_back(fmt::format("key {} at {:.3f} s: {}", key, seconds_of(at.at), rule));
    }
    std::vector<const Happened*> of(What what) const {
        std::vector<const Happened*> found;
        for (const Happened* one : all)
            if (one->what == what) found.push_back(one);
        return found;
    }

    void check_starts() const;
    void check_records() const;
    void check_results() const;
    bool may_differ(const Happened& ok) const;
    void check_failures() const;
    void check_answers() const;
};

/// I1: what is not idempotent starts once, on all devices and in all time; a request starts once.
void OfKey::check_starts() const {
    const auto starts = of(What::kStart);
    if (!kind.idempotent && starts.size() > 1)
        say(*starts[1], "it started twice and is not idempotent");
    std::set<std::string> requests;
    for (const Happened* start : starts)
        if (!requests.insert(start->request).second) say(*start, "one request started twice");
}

/// I7: what has an effect was recorded before.
void OfKey::check_records() const {
    if (!kind.recorded) return;
    const auto commits = of(What::kCommit);
    for (const Happened* start : of(What::kStart))
        if (commits.empty() || commits.front()->at > start->at)
            say(*start, "it started before a ledger knew of it");
    for (const Happened* adopted : of(What::kAdopt))
        if (commits.empty() || commits.front()->at > adopted->at)
            say(*adopted, "it was adopted and nobody had admitted it");
}

/// Whether that result was never recorded, and the call was admitted twice: what may run twice has
/// another result then.
bool OfKey::may_differ(const Happened& ok) const {
    const auto unstored = of(What::kUnstored);
    return kind.idempotent && of(What::kCommit).size() > 1 &&
           std::ranges::any_of(unstored,
                               [&](const Happened* one) { return one->value == ok.value; });
}

/// I2: who is told a result is told that of a run that ended before, and all are told the same.
void OfKey::check_results() const {
    const auto ends = of(What::kEnd);
    const Happened* first = nullptr;
    for (const Happened* ok : of(What::kOk)) {
        const bool ran = std::ranges::any_of(ends, [&](const Happened* end) {
            return end->value == ok->value && end->at <= ok->at;
        });
        if (!ran) say(*ok, "a caller was told a result that no run had");
        if (may_differ(*ok)) continue;
        if (first == nullptr) first = ok;
        if (kind.recorded && ok->value != first->value)
            say(*ok, "two callers were told two results");
    }
}

/// I3: of what a caller was told that it was not run, nothing starts, before or after.
void OfKey::check_failures() const {
    if (kind.idempotent) return;
    for (const Happened* failed : of(What::kFail))
        for (const Happened* start : of(What::kStart))
            if (start->attempt == failed->attempt)
                say(*failed, "a caller was told that nothing was run, and it was");
}

/// Each attempt is answered once, and only what was asked.
void OfKey::check_answers() const {
    std::map<std::uint64_t, int> open;
    for (const Happened* one : all) {
        if (one->what == What::kInvoke) ++open[one->attempt];
        const bool answer =
            one->what == What::kOk || one->what == What::kFail || one->what == What::kUnknown;
        if (answer && --open[one->attempt] != 0) say(*one, "an answer that nobody had asked for");
    }
    for (const auto& [attempt, count] : open)
        if (count > 0) say(*all.back(), fmt::format("attempt {} was never answered", attempt));
}

}  // namespace

std::vector<std::string> check_history(const History& history,
                                       const std::map<std::string, KeyKind>& kinds) {
    std::vector<std::string> broken;
    std::map<std::string, OfKey> keys;
    for (const Happened& one : history) {
        if (one.what == What::kFault) continue;
        const auto kind = kinds.find(one.key);
        if (kind == kinds.end()) {
            broken.push_back(fmt::format("nobody asked for key {}", one.key));
            continue;
        }
        keys.try_emplace(one.key, OfKey{kind->first, kind->second, {}, broken})
            .first->second.all.push_back(&one);
    }
    for (const auto& [key, of_key] : keys) {
        of_key.check_starts();
        of_key.check_records();
        of_key.check_results();
        of_key.check_failures();
        of_key.check_answers();
    }
    return broken;
}

std::string text_of(const History& history) {
    std::string text;
    for (const Happened& one : history)
        text += fmt::format("{:10.3f} {:8} {:8} {:4} {} {}\n", seconds_of(one.at),
                            name_of(one.what), one.key, one.attempt, one.value, one.request);
    return text;
}

}  // namespace crab::fleet::simulation
