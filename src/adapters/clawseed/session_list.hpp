#pragma once

#include "base/glob.hpp"
#include "core/chat/chat_session_store.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace crab::clawseed {

/// Which of a caller's chat sessions are listed: `GET /api/sessions?q&agent&cursor&limit`. Without
/// a limit all that fit, in the order of the store, as apps expect it.
struct SessionsWanted {
    /// After this session: when it was used last, and its id.
    struct Cursor {
        std::int64_t last_activity_ms = 0;
        std::string id;
    };
    std::vector<std::string> words{};  ///< all in the name, in any case; here in lower case
    Glob agent{};  ///< the persona; empty: any
    std::optional<std::size_t> limit{};
    std::optional<Cursor> cursor{};

    /// Of a request's query. Errors: kInvalidArgs.
    static Result<SessionsWanted> read(std::string_view query);
};

struct SessionPage {
    std::vector<core::ChatSession> sessions;
    std::string cursor;  ///< for the next page; empty: there is none
};
/// Latest activity first.
SessionPage page_of(std::vector<core::ChatSession> all, const SessionsWanted& wanted);

}  // namespace crab::clawseed
