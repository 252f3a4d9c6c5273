#pragma once

#include "adapters/mcp/client/upstream_connector.hpp"
#include "base/task/waiter.hpp"
#include "base/task/wakeup.hpp"

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace crab::mcp::test {

/// An upstream that answers as the test lays out; requests are kept.
class FakeSession final : public UpstreamSession {
public:
    using Answer = std::function<Task<Result<UpstreamReply>>(UpstreamRequest&)>;

    Task<Result<UpstreamReply>> request(UpstreamRequest request) override {
        UpstreamRequest& kept = requests.emplace_back(std::move(request));
        const auto found = answers.find(kept.method);
        if (found == answers.end())
            co_return UpstreamReply(std::unexpected(
                RpcError{.code = rpc_code::kMethodNotFound, .message = "unknown", .data = {}}));
        UpstreamRequest own = kept;
        co_return co_await found->second(own);
    }
    void notify(std::string_view method, std::string_view) override {
        notified.emplace_back(method);
    }
    FoundEra found() const override { return era; }
    const std::string& server_capabilities() const override { return capabilities; }
    const std::string& server_info() const override { return info; }
    const std::string& instructions() const override { return words; }
    bool is_open() const override { return open; }
    std::optional<SteadyTime> quiet_since() const override { return quiet; }
    std::string error_tail() const override { return tail; }
    void set_listener(UpstreamListener* listener) override { listener_ = listener; }
    Task<void> close() override {
        ++closed;
        open = false;
        co_return;
    }

    /// The same result to every request of the method.
    void answer(const std::string& method, std::string result) {
        answers[method] = [result](UpstreamRequest&) -> Task<Result<UpstreamReply>> {
            co_return UpstreamReply(result);
        };
    }
    void answer(const std::string& method, RpcError error) {
        answers[method] = [error](UpstreamRequest&) -> Task<Result<UpstreamReply>> {
            co_return UpstreamReply(std::unexpected(error));
        };
    }
    void fail_with(const std::string& method, Error error) {
        answers[method] = [error](UpstreamRequest&) -> Task<Result<UpstreamReply>> {
            co_return std::unexpected(error);
        };
    }
    void tell(std::string_view method, std::string_view params = {}) {
        if (listener_ != nullptr) listener_->on_notification(method, params);
    }
    void end(std::string why = "it ended") {
        open = false;
        if (auto* const listener = std::exchange(listener_, nullptr))
            listener->on_end(
                Error{.code = ErrorCode::kUnavailable, .message = std::move(why), .details = {}});
    }
    std::size_t count(std::string_view method) const {
        std::size_t found = 0;
        for (const UpstreamRequest& each : requests) found += each.method == method ? 1 : 0;
        return found;
    }

    std::map<std::string, Answer> answers;
    std::deque<UpstreamRequest> requests;
    std::vector<std::string> notified;
    FoundEra era{FoundEra::Form::kLegacy, Revision::k2025_11_25};
    std::string capabilities = R"({"tools":{"listChanged":true}})";
    std::string info = R"({"name":"fake","version":"1"})";
    std::string words, tail;
    bool open = true;
    std::optional<SteadyTime> quiet = SteadyTime{};
    int closed = 0;

private:
    UpstreamListener* listener_ = nullptr;
};

/// Hands out the sessions that the test has laid out, the last one's maker again and again.
class FakeConnector final : public UpstreamConnector {
public:
    Task<Result<std::shared_ptr<UpstreamSession>>> connect(
        UpstreamOptions options, core::Inquirer::Answers answers) override {
        asked.push_back(std::move(options));
        declared.push_back(answers);
        if (failure && asked.back().last_words) *asked.back().last_words = last_words;
        if (failure) co_return std::unexpected(*failure);
        if (hangs) {
            co_await goes_on.wait();
            if ((co_await this_chain()).cancelled())
                co_return fail(ErrorCode::kCancelled, "cancelled");
        }
        auto session = std::make_shared<FakeSession>();
        prepare(*session);
        made.push_back(session);
        co_return std::shared_ptr<UpstreamSession>(session);
    }
    std::function<void(FakeSession&)> prepare = [](FakeSession&) {};
    std::optional<Error> failure;
    bool hangs = false;  ///< each connect() waits for `goes_on`; one at a time
    Wakeup goes_on;
    std::string last_words;  ///< of what failed
    std::vector<UpstreamOptions> asked;
    std::vector<core::Inquirer::Answers> declared;
    std::vector<std::shared_ptr<FakeSession>> made;
};

}  // namespace crab::mcp::test
