#include "adapters/rtp/events/event_streams.hpp"

#include <utility>

namespace crab::rtp {

void EventStreams::enter(const std::shared_ptr<LiveStream>& stream) {
    std::shared_ptr<LiveStream> older;
    {
        const std::scoped_lock lock(mutex_);
        older = std::exchange(streams_[Key(stream->peer, stream->subscription)], stream);
    }
    if (!older) return;
    older->displaced = true;
    older->notifier->wake();
}

void EventStreams::leave(const std::shared_ptr<LiveStream>& stream) {
    const std::scoped_lock lock(mutex_);
    const auto found = streams_.find(Key(stream->peer, stream->subscription));
    if (found != streams_.end() && found->second == stream) streams_.erase(found);
}

void EventStreams::acknowledge(std::string_view peer, std::string_view subscription,
                               core::EventPosition position) {
    std::shared_ptr<LiveStream> stream;
    {
        const std::scoped_lock lock(mutex_);
        const auto found = streams_.find(Key(peer, subscription));
        if (found == streams_.end()) return;
        stream = found->second;
    }
    core::EventPosition before = stream->acknowledged;
    while (before < position && !stream->acknowledged.compare_exchange_weak(before, position)) {}
    stream->notifier->wake();
}

std::size_t EventStreams::size() const {
    const std::scoped_lock lock(mutex_);
    return streams_.size();
}

}  // namespace crab::rtp
