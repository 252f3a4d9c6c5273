#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace crab::trust {

/// Writes the object that both sides of a pairing rebuild in order to sign it: members in the order
/// of the calls, no white space, and its own escapes. Text is valid UTF-8. Source:
/// docs/protocols/rtp.md, section 5.4.
class CanonicalWriter {
public:
    CanonicalWriter& text(std::string_view name, std::string_view value);
    CanonicalWriter& texts(std::string_view name, const std::vector<std::string>& values);
    CanonicalWriter& begin(std::string_view name);  ///< an object as this member's value
    CanonicalWriter& end();
    /// The whole object.
    std::string take() &&;

private:
    void key(std::string_view name);
    void quote(std::string_view value);
    std::string out_ = "{";
};

}  // namespace crab::trust
