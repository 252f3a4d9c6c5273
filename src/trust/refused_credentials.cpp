#include "trust/refused_credentials.hpp"

#include "base/log.hpp"
#include "base/log_budget.hpp"

#include <array>
#include <atomic>

namespace crab::trust {
namespace {

std::atomic<std::uint64_t>& count_of(Entrance entrance) {
    static std::array<std::atomic<std::uint64_t>, 3> counts;
    return counts[static_cast<std::size_t>(entrance)];
}

}  // namespace

void log_refused_credential(std::string_view kind, std::string_view from, std::string_view why,
                            Entrance entrance) {
    count_refused_credential(entrance);
    static log::Budget budget(30);  // one for all, for it is one log
    if (const auto left_out = budget.take(std::chrono::steady_clock::now())) {
        log::warn("credential refused",
                  {{"kind", kind}, {"from", from}, {"reason", why}, {"left_out", *left_out}});
    }
}

void count_refused_credential(Entrance entrance) {
    count_of(entrance).fetch_add(1, std::memory_order_relaxed);
}

std::uint64_t refused_credentials(Entrance entrance) {
    return count_of(entrance).load(std::memory_order_relaxed);
}

}  // namespace crab::trust
