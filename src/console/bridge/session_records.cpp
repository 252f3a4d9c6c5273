#include "console/bridge/session_records.hpp"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace crab::console {
namespace {

constexpr std::size_t kMostNoted = 256;
constexpr Milliseconds kPatience{5'000};

}  // namespace

Task<Result<void>> SessionRecords::opened(std::uint64_t number) {
    const Deadline deadline = loop_.clock().steady_now() + kPatience;
    std::string change = fmt::format(R"({{"change":"opened","session":{}}})", number);
    if (co_await post(std::move(change), deadline)) co_return Result<void>();
    co_return fail(ErrorCode::kUnavailable,
                   "the gateway does not record who signs in, so nobody can; see that it runs, "
                   "then press Enter where `crab console` runs, and open the new link");
}

void SessionRecords::note_refused() { note(R"({"change":"refused","session":0})"); }

void SessionRecords::note_ended(const ConsoleSessions::Ended& ended) {
    note(fmt::format(R"({{"change":"ended","session":{},"why":"{}"}})", ended.number,
                     name_of(ended.end)));
}

void SessionRecords::note(std::string change) {
    if (noted_.size() >= kMostNoted) noted_.pop_front();
    noted_.push_back(std::move(change));
}

Task<void> SessionRecords::write_noted(Deadline deadline) {
    while (!noted_.empty()) {
        const std::string next = std::move(noted_.front());
        noted_.pop_front();
        if (co_await post(next, deadline)) continue;
        noted_.push_front(next);
        break;
    }
}

Task<bool> SessionRecords::post(std::string change, Deadline deadline) {
    static constexpr std::array<net::HttpHeader, 1> kFields{{{"Crab-Front", "console"}}};
    const net::HttpCall call{.method = "POST",
                             .target = "/v1/admin/console/sessions",
                             .content_type = "application/json",
                             .body = change,
                             .headers = kFields};
    const auto reply = co_await gateway_.send(call, deadline);
    co_return reply && reply->status < 300;
}

}  // namespace crab::console
