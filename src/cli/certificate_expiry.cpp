#include "cli/certificate_expiry.hpp"

#include "cli/output/files.hpp"

#include <memory>

#include <openssl/bio.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

namespace crab::cli {

Result<std::chrono::days> certificate_time_left(const std::filesystem::path& pem) {
    const Result<std::string> text = read_input(pem.string());
    if (!text) return fail(text.error());
    const std::unique_ptr<BIO, decltype(&BIO_free)> bio(
        BIO_new_mem_buf(text->data(), static_cast<int>(text->size())), &BIO_free);
    const std::unique_ptr<X509, decltype(&X509_free)> certificate(
        PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr), &X509_free);
    if (!certificate)
        return fail(ErrorCode::kInvalidArgs, pem.string() + " holds no PEM certificate");
    int days = 0, seconds = 0;
    if (ASN1_TIME_diff(&days, &seconds, nullptr, X509_get0_notAfter(certificate.get())) != 1) {
        return fail(ErrorCode::kInvalidArgs, pem.string() + " has an unreadable end date");
    }
    return std::chrono::days(seconds < 0 && days == 0 ? -1 : days);
}

}  // namespace crab::cli
