#pragma once

#include "base/result.hpp"
#include "core/call/frame_sink.hpp"
#include "fleet/messages.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace crab::fleet {

/// PROGRESS, owner to home: what a running tool has said. It may be lost.
struct News {
    ForwardId id;
    std::uint64_t number = 0;  ///< ascending
    bool is_log = false;
    core::Progress progress;
    std::string_view level, logger, data;  ///< of a log message
};
std::string to_wire(const News& news);
Result<News> parse_news(std::string_view body);

/// The sink of a call that runs for another node: hands on what home wants, kMostInASecond at most.
class NewsSink final : public core::FrameSink {
public:
    static constexpr int kMostInASecond = 64;

    /// `send` is called on the loop, until this is destroyed.
    NewsSink(ForwardId id, NewsWanted wanted, const Clock& clock,
             std::function<void(const std::string&)> send)
        : id_(id), wanted_(wanted), clock_(clock), send_(std::move(send)) {}

    void on_progress(const core::Progress& progress) override;
    bool wants_progress() const override { return wanted_.progress; }
    void on_log(const Log& log) override;
    std::string_view wanted_log_level() const override { return wanted_.log_level; }

private:
    void send(News news);

    const ForwardId id_;
    const NewsWanted wanted_;
    const Clock& clock_;
    const std::function<void(const std::string&)> send_;
    std::uint64_t number_ = 0;
    SteadyTime second_;
    int in_second_ = 0;
};

}  // namespace crab::fleet
