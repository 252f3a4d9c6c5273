#include "crypto/pem.hpp"

#include "base/ascii.hpp"
#include "base/encoding.hpp"
#include "crypto/digest.hpp"

#include <fmt/format.h>

namespace crab::crypto {

Result<std::string> decode_pem(std::string_view text, std::string_view label) {
    const std::string begin = fmt::format("-----BEGIN {}-----", label);
    const std::string end = fmt::format("-----END {}-----", label);
    std::string_view body = trim(text, kWhiteSpace);
    if (body.size() < begin.size() + end.size() || !body.starts_with(begin) ||
        !body.ends_with(end)) {
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the text is not one PEM block labelled {}", label));
    }
    body = body.substr(begin.size(), body.size() - begin.size() - end.size());
    std::string base64;
    base64.reserve(body.size());
    for (const char c : body) {
        if (!kWhiteSpace.contains(c)) base64 += c;
    }
    auto bytes = from_base64(base64);
    if (!bytes || bytes->empty())
        return fail(ErrorCode::kInvalidArgs,
                    fmt::format("the {} block does not hold base64 alone", label));
    return std::move(*bytes);
}

std::string encode_pem(std::string_view label, std::string_view bytes) {
    constexpr std::size_t kLine = 64;
    const std::string base64 = to_base64(bytes_of(bytes));
    std::string out = fmt::format("-----BEGIN {}-----\n", label);
    for (std::size_t i = 0; i < base64.size(); i += kLine) {
        out.append(base64, i, kLine);
        out += '\n';
    }
    out += fmt::format("-----END {}-----\n", label);
    return out;
}

}  // namespace crab::crypto
