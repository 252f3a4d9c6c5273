#pragma once

#include "net/loop/loop_group.hpp"
#include "runtime/component.hpp"

#include <functional>
#include <future>
#include <memory>
#include <utility>
#include <vector>

namespace crab::runtime {

/// The event loops. They do not run until all components have started.
class EventLoops : public Component {
public:
    /// `threads` 0: one for each core.
    EventLoops(const Clock& clock, std::size_t threads) : clock_(clock), threads_(threads) {}

    std::string_view name() const override { return "event loops"; }
    Result<void> start() override;
    void begin() override { run(); }
    void stop(Deadline deadline) override;

    net::LoopGroup& group() { return *loops_; }
    net::EventLoop& first() { return loops_->at(0); }
    std::vector<net::EventLoop*> all();

    /// Starts the loops' threads unless they run. Called by begin(), and before stopping something
    /// on a loop, since start-up may have failed earlier.
    void run();

    /// Runs `begin(done)` on the loop and waits until it has called `done`, or until `deadline`.
    /// Starts the loops if needed.
    template <class Begin>
    void finish(net::EventLoop& loop, Deadline deadline, Begin begin) {
        run();
        post(loop, std::move(begin)).wait_until(deadline);
    }
    /// The same on all loops in parallel; `begin(i, done)` gets the loop's index.
    template <class Begin>
    void finish_on_each(Deadline deadline, Begin begin) {
        run();
        std::vector<std::future<void>> ends;
        for (std::size_t i = 0; i < loops_->size(); ++i)
            ends.push_back(post(loops_->at(i), [begin, i](auto done) { begin(i, done); }));
        for (std::future<void>& end : ends) end.wait_until(deadline);
    }

private:
    template <class Begin>
    static std::future<void> post(net::EventLoop& loop, Begin begin) {
        const auto ended = std::make_shared<std::promise<void>>();
        loop.post([begin = std::move(begin), ended] {
            begin(std::function<void()>([ended] { ended->set_value(); }));
        });
        return ended->get_future();
    }
    const Clock& clock_;
    const std::size_t threads_;
    std::unique_ptr<net::LoopGroup> loops_;
    bool running_ = false;
};

}  // namespace crab::runtime
