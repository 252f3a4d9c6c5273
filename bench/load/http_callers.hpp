#pragma once

#include "load/address.hpp"
#include "load/call_request.hpp"
#include "load/connection.hpp"
#include "load/driver.hpp"

#include <memory>
#include <vector>

namespace crab::bench {

/// Keep-alive HTTP/1.1 callers, one connection to each lane, one call at a time on each. A success
/// is status 200 and, for calls, `"status":"ok"` in the body, or of MCP a `result` that is no
/// error, whether it comes as JSON or as an event stream. A connection that the server closes is
/// opened again; its call counts as failed.
class HttpCallers final : public Transport {
public:
    /// Lane n makes the request `requests[n % requests.size()]`.
    HttpCallers(Loop& loop, const Address& server, std::size_t lanes,
                std::vector<CallRequest> requests, Answers& answers);
    ~HttpCallers() override;

    void start(std::size_t lane) override;
    void start(std::size_t lane, CallRequest& request);
    /// Hangs up in the middle of the lane's call and dials again; no answer is reported for it.
    void hang_up(std::size_t lane);

private:
    class Caller;
    Loop& loop_;
    Address server_;
    std::vector<CallRequest> requests_;
    Answers& answers_;
    std::vector<std::unique_ptr<Caller>> callers_;
};

}  // namespace crab::bench
