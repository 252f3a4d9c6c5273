// Any bytes as a message of the bus: refused, or the same again when written. What no key has
// signed is never taken, and its fields are read within their bounds.

#include "base/fuzz_check.hpp"
#include "bus/envelope.hpp"
#include "bus/fields.hpp"
#include "bus/fleet_keys.hpp"

#include <string>

using namespace crab::bus;
using crab::require;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const FleetKeys keys = FleetKeys::parse(std::string(64, 'c'), "fuzz").value();
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    require(!keys.check(text), "nobody has signed this");
    const auto opened = parse_envelope(text);
    const std::string_view body = opened ? opened->body : text;
    if (opened) require(to_wire(opened->envelope, opened->body) == text);
    std::size_t read = 0;
    FieldReader fields(body);
    while (const auto field = fields.next()) {
        require(field->bytes.empty() ||
                (field->bytes.data() >= body.data() &&
                 field->bytes.data() + field->bytes.size() <= body.data() + body.size()));
        read += 5 + field->bytes.size();
    }
    require(fields.broken() || read == body.size(), "all of it is fields");
    return 0;
}
