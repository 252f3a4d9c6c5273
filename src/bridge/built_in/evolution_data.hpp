#pragma once

#include "bridge/built_in/adapter.hpp"

#include <string>
#include <vector>

namespace crab::bridge {

/// Address books or calendars of Evolution Data Server. Used on the loop's thread. Its backends
/// exist as long as the connection to the session bus. Source: the D-Bus interfaces of
/// evolution-data-server 3.46.
class EvolutionData {
public:
    enum class Kind : std::uint8_t { kContacts, kEvents };
    struct Collection {
        std::string uid, name;
    };

    EvolutionData(const Sources& sources, Kind kind)
        : session_(sources.bus(BusKind::kSession)), locale_(sources.locale), kind_(kind) {}

    /// The collections that the user has enabled. Errors: those of BusLink::call().
    Task<Result<std::vector<Collection>>> collections(Deadline deadline);
    /// Whether there are any.
    Task<Result<void>> check(Deadline deadline);

    struct Found {
        std::string collection;          ///< its name
        std::vector<std::string> items;  ///< vCards or iCalendar components
    };
    /// The matches of each collection for an expression of the data server; collections that do not
    /// answer are left out.
    Task<Result<std::vector<Found>>> query(std::string expression, Deadline deadline);

private:
    Task<Result<Found>> query_one(Collection collection, std::string expression, Deadline deadline);

    BusLink& session_;
    const std::string locale_;
    const Kind kind_;
};

/// Text as expressions quote it.
std::string quoted_for_evolution(std::string_view text);

}  // namespace crab::bridge
