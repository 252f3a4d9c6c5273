// Inflating anything at all stays within its limit, and what was deflated comes back. The first
// byte chooses the window.

#include "net/codec/fuzz_check.hpp"
#include "net/codec/websocket_deflate.hpp"

#include <string>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace crab::net;
    if (size == 0) return 0;
    static MessageInflater inflater;
    static MessageDeflater deflater;
    constexpr std::size_t kMaxMessage = 10'000;
    const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
    std::string out;
    const auto outcome = inflater.inflate(bytes, kMaxMessage, out);
    require(out.size() <= kMaxMessage + 1, "no more is inflated than one byte beyond the limit");
    require(outcome != MessageInflater::Outcome::kDone || out.size() <= kMaxMessage,
            "a message stays within its limit");

    const int window = MessageDeflater::kMinWindowBits + data[0] % 7;
    std::string small;
    deflater.deflate(bytes, window, small);
    std::string back;
    require(inflater.inflate(small, bytes.size(), back) == MessageInflater::Outcome::kDone,
            "what was deflated can be inflated");
    require(back == bytes, "what was deflated comes back");
    if (bytes.empty()) return 0;
    require(inflater.inflate(small, bytes.size() - 1, back) == MessageInflater::Outcome::kTooBig,
            "one byte beyond the limit is too much");
    return 0;
}
