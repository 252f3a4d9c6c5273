// Any bytes as what a NATS server says: read item by item within the input, the same when they come
// in two parts, or refused.

#include "base/fuzz_check.hpp"
#include "bus/nats/nats_codec.hpp"

using namespace crab::bus::nats;
using crab::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    constexpr std::size_t kMost = 4'096;
    std::string_view rest(reinterpret_cast<const char*>(data), size);
    while (true) {
        const auto read = read_from_server(rest, kMost);
        if (!read || read->consumed == 0) return 0;
        require(read->consumed <= rest.size());
        const FromServer& item = read->item;
        for (const std::string_view view : {item.text, item.subject, item.reply, item.payload})
            require(view.empty() || (view.data() >= rest.data() &&
                                     view.data() + view.size() <= rest.data() + read->consumed));
        require(item.payload.size() <= kMost);
        const auto less = read_from_server(rest.substr(0, read->consumed - 1), kMost);
        require(!less || less->consumed == 0, "nothing is read before it is whole");
        rest.remove_prefix(read->consumed);
    }
}
