#include "trust/refused_credentials.hpp"

#include "base/log.hpp"
#include "base/log_budget.hpp"

namespace crab::trust {

void log_refused_credential(std::string_view kind, std::string_view from, std::string_view why) {
    static log::Budget budget(30);  // one for all, for it is one log
    if (const auto left_out = budget.take(std::chrono::steady_clock::now())) {
        log::warn("credential refused",
                  {{"kind", kind}, {"from", from}, {"reason", why}, {"left_out", *left_out}});
    }
}

}  // namespace crab::trust
