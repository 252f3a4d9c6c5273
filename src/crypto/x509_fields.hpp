#pragma once

#include "crypto/alt_names.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

struct stack_st_X509_EXTENSION;
struct X509_name_st;
struct asn1_string_st;

namespace crab::crypto {

// The fields that certificates and requests share, between OpenSSL's types and ours; for
// crypto/*.cpp.

/// Makes `name` the subject's one common name.
void set_common_name(X509_name_st* subject, std::string_view name);
/// The first common name; empty when there is none.
std::string common_name_of(const X509_name_st* subject);
/// Adds the extension with these names. Throws std::invalid_argument for what is not an IP address.
void add_alt_names(stack_st_X509_EXTENSION** extensions, const AltNames& names);
AltNames alt_names_of(const stack_st_X509_EXTENSION* extensions);
/// A UTCTime or GeneralizedTime; nothing when it is malformed.
std::optional<std::chrono::sys_seconds> time_of(const asn1_string_st* time);

}  // namespace crab::crypto
