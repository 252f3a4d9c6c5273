#pragma once

#include "core/events/event_store.hpp"
#include "crypto/digest.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace crab::core {

inline const SystemTime kFirstEventAt{std::chrono::seconds(1'780'000'000)};

/// What tests of every event store do: events of each kind, and short questions to the store.
struct EventStoreSteps {
    std::unique_ptr<EventStore> store;
    SystemTime now = kFirstEventAt;

    static NewEvent event(std::string id, std::string envelope = "{}") {
        NewEvent made;
        made.event = {.type = EventType::kCronTriggered,
                      .event_id = std::move(id),
                      .tenant = "acme",
                      .agent_id = "butler",
                      .session_id = "s1",
                      .addressee = {},
                      .envelope = std::move(envelope)};
        return made;
    }
    static NewEvent published(std::string id, std::string key = {}, std::uint64_t content = 1,
                              std::string by = "listener/mail") {
        NewEvent made = event(std::move(id));
        made.publisher = std::move(by);
        made.idempotency_key = std::move(key);
        made.content = crypto::sha256(std::to_string(content));
        return made;
    }
    static NewEvent requested(std::string id, std::string addressee = {}) {
        NewEvent made = event(std::move(id));
        made.step = CallStep::kRequested;
        made.event.addressee = std::move(addressee);
        return made;
    }
    static NewEvent ended(std::string request, CallStep step = CallStep::kEnded,
                          std::string addressee = {}) {
        NewEvent made = event("end of " + request);
        made.step = step;
        made.requested_id = std::move(request);
        made.call_id = "call";
        made.event.addressee = std::move(addressee);
        return made;
    }
    NewEvent settles(std::string by) const {
        NewEvent made = published(std::string("word of ") + by, {}, 1, by);
        made.step = CallStep::kSettles;
        made.call_id = "call";
        return made;
    }
    EventReceipt append(NewEvent one) {
        return store->append({std::move(one)}, now).front().value();
    }
    void append_many(int count, std::size_t bytes = 2) {
        std::vector<NewEvent> many;
        for (int i = 0; i < count; ++i)
            many.push_back(event(std::to_string(i), std::string(bytes, 'x')));
        for (const auto& receipt : store->append(many, now))
            ASSERT_TRUE(receipt) << receipt.error().message;
    }
    std::vector<std::string> ids(EventPosition after = 0, std::size_t most = 1'000) {
        std::vector<std::string> found;
        for (const auto& stored : store->read(after, most, 1 << 20).value())
            found.push_back(stored.event.event_id);
        return found;
    }
    std::vector<std::string> open_ids() {
        std::vector<std::string> found;
        for (const auto& stored : store->open_calls().value())
            found.push_back(stored.event.event_id);
        return found;
    }
};

}  // namespace crab::core
