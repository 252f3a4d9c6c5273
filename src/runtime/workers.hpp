#pragma once

#include "base/task/blocking_pool.hpp"
#include "net/http/name_lookups.hpp"
#include "runtime/component.hpp"

#include <memory>

namespace crab::runtime {

/// Shared worker threads: for blocking work, and for name lookups, which may hang.
class Workers final : public Component {
public:
    struct Options {
        std::size_t threads = 4;
        std::size_t names = 0;  ///< lookups at once; without any nobody asks for names()
    };
    explicit Workers(Options options) : options_(options) {}

    std::string_view name() const override { return "workers"; }
    Result<void> start() override {
        pool_ = std::make_unique<BlockingPool>(options_.threads);
        if (options_.names != 0) names_ = std::make_unique<net::NameLookups>(options_.names);
        return {};
    }
    /// Waits for all posted work.
    void stop(Deadline) override {
        if (names_) names_->settle();
        pool_->settle();
    }

    BlockingPool& pool() { return *pool_; }
    net::NameLookups& names() { return *names_; }

private:
    const Options options_;
    std::unique_ptr<BlockingPool> pool_;
    std::unique_ptr<net::NameLookups> names_;
};

}  // namespace crab::runtime
