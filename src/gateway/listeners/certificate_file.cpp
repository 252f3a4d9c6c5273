#include "gateway/listeners/certificate_file.hpp"

#include "base/process/file.hpp"
#include "crypto/certificate.hpp"

#include <string_view>

namespace crab::gateway {

std::optional<SystemTime> certificate_end(const std::filesystem::path& pem) {
    constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
    constexpr std::string_view kEnd = "-----END CERTIFICATE-----\n";
    const auto text = read_file(pem, std::size_t{1} << 20);
    if (!text) return std::nullopt;
    const std::size_t begin = text->find(kBegin), end = text->find(kEnd);
    if (begin == std::string::npos || end == std::string::npos || end < begin) return std::nullopt;
    const auto certificate =
        crypto::Certificate::from_pem(text->substr(begin, end + kEnd.size() - begin));
    if (!certificate) return std::nullopt;
    return certificate->not_after();
}

}  // namespace crab::gateway
