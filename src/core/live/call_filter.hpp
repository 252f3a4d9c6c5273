#pragma once

#include "base/clock.hpp"
#include "base/glob.hpp"
#include "base/result.hpp"
#include "core/live/finished_call.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::core {

/// Which calls somebody wants to see, as people write it: `tool:disk* status:error,timeout
/// principal: agent: session: source: min:500ms from:1d to: "words"`. All terms must fit; of the
/// values of one, any. `*` and `?` stand for text, case does not matter, `status` also looks at the
/// error's code. What is no known field is a word that the tool, the principal, the agent, the
/// code, the message or the id has. A field without a value is still being written, and any call
/// fits it. Immutable.
class CallFilter {
public:
    static constexpr std::size_t kMostBytes = 1'000, kMostValues = 64;

    CallFilter() = default;  ///< all calls
    /// `now`: what `from:2h` and `from:22:00` count from; the latter in the time zone of the
    /// process. Errors: kInvalidArgs, with what is wrong.
    static Result<CallFilter> parse(std::string_view text, SystemTime now);

    bool matches(const FinishedCall& call) const;
    bool empty() const { return members_.empty() && words_.empty() && !min_us_ && !bounds(); }

private:
    struct Member {
        std::string_view field;  ///< of kFields
        std::vector<Glob> any;  ///< in lower case
    };
    class Reader;
    bool bounds() const { return !from_.empty() || !to_.empty(); }

    std::vector<Member> members_;
    std::vector<std::string> words_;  ///< in lower case
    std::optional<std::int64_t> min_us_;
    std::string from_, to_;  ///< as records write times, or the beginning of that
};

}  // namespace crab::core
