#pragma once

#include "base/ordered_mutex.hpp"
#include "fleet/link_table.hpp"
#include "store/postgres/connection.hpp"

#include <utility>

namespace crab::store::postgres {

/// The table `link`. Thread-safe.
class LinkTablePostgres final : public fleet::LinkTable {
public:
    explicit LinkTablePostgres(ConnectionOptions options) : database_(std::move(options)) {}

    Result<std::vector<std::uint64_t>> claim(fleet::NodeName self,
                                             const std::vector<fleet::Link>& changed,
                                             const std::vector<std::uint64_t>& kept) override;
    Result<std::string> version() override;
    Result<std::vector<fleet::Link>> read(std::uint16_t but_of) override;

private:
    OrderedMutex<LockRank::kStore> mutex_;
    Connection database_;
};

}  // namespace crab::store::postgres
