#include "fleet/beats.hpp"

#include <algorithm>

namespace crab::fleet {

std::uint64_t Beats::next() {
    const SteadyTime now = clock_.steady_now();
    while (!recent_.empty() && recent_.front().at + kStale < now) recent_.pop_front();
    recent_.push_back({++said_, now});
    return said_;
}

bool Beats::is_fresh(std::uint64_t own) const {
    const auto said = std::ranges::find(recent_, own, &Said::number);
    return said != recent_.end() && clock_.steady_now() <= said->at + kStale;
}

void Beats::hear(bus::Process process, std::uint64_t number) {
    const SteadyTime now = clock_.steady_now();
    if (has_later(process, number)) return;
    auto known = heard_.find(process);
    if (known == heard_.end()) {
        if (heard_.size() == kMostProcesses)
            std::erase_if(heard_, [&](const auto& one) { return one.second.last + kSilent < now; });
        if (heard_.size() == kMostProcesses) return;
        known = heard_.emplace(process, Heard{.last = now}).first;
    }
    // A beat that comes late says nothing about now.
    if (number <= known->second.number) return;
    known->second.number = number;
    known->second.last = now;
}

std::optional<std::uint64_t> Beats::newest_of(bus::Process process) const {
    const auto known = heard_.find(process);
    if (known == heard_.end() || known->second.last + kSilent < clock_.steady_now())
        return std::nullopt;
    return known->second.number;
}

std::size_t Beats::living() const {
    const SteadyTime since = clock_.steady_now() - kSilent;
    return static_cast<std::size_t>(
        std::ranges::count_if(heard_, [&](const auto& one) { return one.second.last >= since; }));
}

bool Beats::is_replaced(bus::Process process) const {
    const auto known = heard_.find(process);
    return known != heard_.end() && has_later(process, known->second.number);
}

/// Whether another life of its node has said more than `number`.
bool Beats::has_later(bus::Process process, std::uint64_t number) const {
    return std::ranges::any_of(heard_, [&](const auto& one) {
        return one.first.node == process.node && one.first.boot != process.boot &&
               one.second.number > number;
    });
}

}  // namespace crab::fleet
