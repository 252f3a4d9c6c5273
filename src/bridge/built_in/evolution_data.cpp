#include "bridge/built_in/evolution_data.hpp"

#include "adapters/cetp/key_file.hpp"
#include "base/task/gather.hpp"
#include "bridge/built_in/json_members.hpp"

namespace crab::bridge {
namespace {

using json::Value;

constexpr const char* kSources = "org.gnome.evolution.dataserver.Sources5";

/// How one kind of collection is opened and read.
struct Words {
    const char *group, *service, *factory_path, *factory, *open, *interface, *list;
};
const Words& words_of(EvolutionData::Kind kind) {
    static constexpr Words kContacts{"Address Book",
                                     "org.gnome.evolution.dataserver.AddressBook10",
                                     "/org/gnome/evolution/dataserver/AddressBookFactory",
                                     "org.gnome.evolution.dataserver.AddressBookFactory",
                                     "OpenAddressBook",
                                     "org.gnome.evolution.dataserver.AddressBook",
                                     "GetContactList"};
    static constexpr Words kEvents{"Calendar",
                                   "org.gnome.evolution.dataserver.Calendar8",
                                   "/org/gnome/evolution/dataserver/CalendarFactory",
                                   "org.gnome.evolution.dataserver.CalendarFactory",
                                   "OpenCalendar",
                                   "org.gnome.evolution.dataserver.Calendar",
                                   "GetObjectList"};
    return kind == EvolutionData::Kind::kContacts ? kContacts : kEvents;
}

}  // namespace

Task<Result<std::vector<EvolutionData::Collection>>> EvolutionData::collections(Deadline deadline) {
    BusCall list{kSources, "/org/gnome/evolution/dataserver/SourceManager",
                 "org.freedesktop.DBus.ObjectManager", "GetManagedObjects"};
    const auto values = co_await session_.call(std::move(list), deadline);
    if (!values) co_return fail(values.error());
    std::vector<Collection> found;
    const Value* objects = values->resolve("/0");
    if (objects == nullptr || !objects->is_object()) co_return found;
    for (const auto& [path, interfaces] : *objects->as_object()) {
        const Value* source = interfaces.find("org.gnome.evolution.dataserver.Source");
        const auto file = source != nullptr ? cetp::KeyFile::parse(text_in(*source, "Data"))
                                            : fail(ErrorCode::kNotFound, "");
        if (!file || !file->has_group(words_of(kind_).group) ||
            file->get("Data Source", "Enabled") == "false")
            continue;
        found.push_back(
            {text_in(*source, "UID"), file->get_localized("Data Source", "DisplayName", locale_)
                                          .value_or(text_in(*source, "UID"))});
    }
    co_return found;
}

Task<Result<void>> EvolutionData::check(Deadline deadline) {
    const auto found = co_await collections(deadline);
    if (!found) co_return fail(found.error());
    if (found->empty()) co_return fail(ErrorCode::kUnavailable, "there is no collection");
    co_return Result<void>();
}

Task<Result<EvolutionData::Found>> EvolutionData::query_one(Collection collection,
                                                            std::string expression,
                                                            Deadline deadline) {
    const Words& words = words_of(kind_);
    BusCall open{words.service, words.factory_path,     words.factory, words.open,
                 "s",           {Value(collection.uid)}};
    const auto place = co_await session_.call(std::move(open), deadline);
    if (!place) co_return fail(place.error());
    // its path, its bus name
    const std::vector<std::string> address = texts_of(*place->as_array());
    if (address.size() != 2)
        co_return fail(ErrorCode::kToolFailed, "the data server answers with something else");
    BusCall begin{address[1], address[0], words.interface, "Open"};
    const auto opened = co_await session_.call(std::move(begin), deadline);
    if (!opened) co_return fail(opened.error());
    BusCall list{address[1], address[0], words.interface,
                 words.list, "s",        {Value(std::move(expression))}};
    const auto values = co_await session_.call(std::move(list), deadline);
    if (!values) co_return fail(values.error());
    co_return Found{std::move(collection.name), texts_of(items_at(*values, 0))};
}

Task<Result<std::vector<EvolutionData::Found>>> EvolutionData::query(std::string expression,
                                                                     Deadline deadline) {
    auto all = co_await collections(deadline);
    if (!all) co_return fail(all.error());
    std::vector<Task<Result<Found>>> questions;
    for (Collection& collection : *all)
        questions.push_back(query_one(std::move(collection), expression, deadline));
    std::vector<Found> found;
    std::optional<Error> failure;
    for (auto& answer : co_await gather(std::move(questions))) {
        if (answer)
            found.push_back(*std::move(answer));
        else
            failure = std::move(answer.error());
    }
    if (found.empty() && failure) co_return fail(*std::move(failure));
    co_return found;
}

std::string quoted_for_evolution(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        quoted += c;
    }
    return quoted + '"';
}

}  // namespace crab::bridge
