#pragma once

#include "base/clock.hpp"
#include "base/result.hpp"
#include "crypto/alt_names.hpp"
#include "crypto/private_key.hpp"

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace crab::crypto {

/// An X.509 certificate, read once into plain fields (RFC 5280).
class Certificate {
public:
    /// Exactly one PEM block. Errors: kInvalidArgs.
    static Result<Certificate> from_pem(std::string_view pem);
    /// Errors: kInvalidArgs, also for bytes after the certificate.
    static Result<Certificate> from_der(std::string_view der);

    const std::string& der() const { return der_; }
    std::string to_pem() const;
    /// `sha256:` and 64 lower-case hexadecimal digits of SHA-256 over the DER.
    const std::string& fingerprint() const { return fingerprint_; }
    /// Lower-case hexadecimal without leading zeros.
    const std::string& serial_number() const { return serial_number_; }
    std::chrono::sys_seconds not_before() const { return not_before_; }
    std::chrono::sys_seconds not_after() const { return not_after_; }
    const std::string& common_name() const { return common_name_; }
    const AltNames& alt_names() const { return alt_names_; }
    const PublicKey& public_key() const { return public_key_; }
    /// Whether basic constraints have CA:TRUE.
    bool is_ca() const { return is_ca_; }
    /// Whether issuer and subject are equal.
    bool is_self_issued() const { return is_self_issued_; }
    /// Whether `at` is within the validity period, extended by `slack` at both ends.
    bool is_valid_at(SystemTime at, std::chrono::seconds slack = {}) const {
        return at >= not_before_ - slack && at <= not_after_ + slack;
    }

private:
    std::string der_, fingerprint_, serial_number_, common_name_;
    std::chrono::sys_seconds not_before_, not_after_;
    AltNames alt_names_;
    PublicKey public_key_;
    bool is_ca_ = false;
    bool is_self_issued_ = false;
};

/// Checks that `leaf` chains to `ca`, via `between` if needed: signatures, basic constraints, dates
/// at `at`, no weak digest or key (RFC 5280, section 6). Names are not compared. Errors:
/// kInvalidArgs with the reason.
Result<void> check_chain(const Certificate& leaf, std::span<const Certificate> between,
                         const Certificate& ca, SystemTime at);
inline Result<void> check_chain(const Certificate& leaf, const Certificate& ca, SystemTime at) {
    return check_chain(leaf, {}, ca, at);
}

/// Compares two fingerprints, ignoring case.
bool same_fingerprint(std::string_view left, std::string_view right);

}  // namespace crab::crypto
