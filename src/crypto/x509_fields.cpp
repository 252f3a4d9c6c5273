#include "crypto/x509_fields.hpp"

#include "crypto/openssl_types.hpp"

#include <openssl/asn1.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <array>
#include <ctime>
#include <memory>
#include <stdexcept>

#include <arpa/inet.h>

namespace crab::crypto {
namespace {

std::string text_of(const ASN1_STRING* string) {
    return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(string)),
            static_cast<std::size_t>(ASN1_STRING_length(string))};
}

std::string address_of(const ASN1_OCTET_STRING* bytes) {
    const int size = ASN1_STRING_length(bytes);
    std::array<char, INET6_ADDRSTRLEN> text{};
    if (size != 4 && size != 16) return {};
    if (inet_ntop(size == 4 ? AF_INET : AF_INET6, ASN1_STRING_get0_data(bytes), text.data(),
                  text.size()) == nullptr)
        return {};
    return text.data();
}

void push(GENERAL_NAMES* names, int type, ASN1_STRING* value) {
    GENERAL_NAME* const name = GENERAL_NAME_new();
    require_openssl(name != nullptr && value != nullptr, "writing a name failed");
    GENERAL_NAME_set0_value(name, type, value);
    require_openssl(sk_GENERAL_NAME_push(names, name) > 0, "writing a name failed");
}

ASN1_STRING* ia5(std::string_view text) {
    ASN1_STRING* const value = ASN1_IA5STRING_new();
    require_openssl(
        value != nullptr && ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) == 1,
        "writing a name failed");
    return value;
}

}  // namespace

void set_common_name(X509_name_st* subject, std::string_view name) {
    require_openssl(X509_NAME_add_entry_by_NID(subject, NID_commonName, MBSTRING_UTF8,
                                               reinterpret_cast<const unsigned char*>(name.data()),
                                               static_cast<int>(name.size()), -1, 0) == 1,
                    "writing a common name failed");
}

std::string common_name_of(const X509_name_st* subject) {
    const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
    if (at < 0) return {};
    unsigned char* utf8 = nullptr;
    const int size =
        ASN1_STRING_to_UTF8(&utf8, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (size < 0) return {};
    std::string name(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
    OPENSSL_free(utf8);
    return name;
}

void add_alt_names(stack_st_X509_EXTENSION** extensions, const AltNames& names) {
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> list(GENERAL_NAMES_new(),
                                                                             &GENERAL_NAMES_free);
    require_openssl(list != nullptr, "writing names failed");
    for (const auto& uri : names.uris) push(list.get(), GEN_URI, ia5(uri));
    for (const auto& dns : names.dns_names) push(list.get(), GEN_DNS, ia5(dns));
    for (const auto& address : names.ip_addresses) {
        ASN1_OCTET_STRING* const bytes = a2i_IPADDRESS(address.c_str());
        if (bytes == nullptr) throw std::invalid_argument("not an IP address");
        push(list.get(), GEN_IPADD, bytes);
    }
    require_openssl(
        X509V3_add1_i2d(extensions, NID_subject_alt_name, list.get(), 0, X509V3_ADD_DEFAULT) == 1,
        "writing names failed");
}

AltNames alt_names_of(const stack_st_X509_EXTENSION* extensions) {
    AltNames names;
    const std::unique_ptr<GENERAL_NAMES, decltype(&GENERAL_NAMES_free)> list(
        static_cast<GENERAL_NAMES*>(
            X509V3_get_d2i(extensions, NID_subject_alt_name, nullptr, nullptr)),
        &GENERAL_NAMES_free);
    for (int i = 0; list != nullptr && i < sk_GENERAL_NAME_num(list.get()); ++i) {
        int type = 0;
        const auto* const value = static_cast<const ASN1_STRING*>(
            GENERAL_NAME_get0_value(sk_GENERAL_NAME_value(list.get(), i), &type));
        std::string address = type == GEN_IPADD ? address_of(value) : std::string();
        if (type == GEN_URI) {
            names.uris.push_back(text_of(value));
        } else if (type == GEN_DNS) {
            names.dns_names.push_back(text_of(value));
        } else if (!address.empty()) {
            names.ip_addresses.push_back(std::move(address));
        } else {
            names.others = true;
        }
    }
    return names;
}

std::optional<std::chrono::sys_seconds> time_of(const asn1_string_st* time) {
    std::tm parts{};
    if (ASN1_TIME_to_tm(time, &parts) != 1) return std::nullopt;
    using namespace std::chrono;
    const sys_days day = year{parts.tm_year + 1900} / (parts.tm_mon + 1) / parts.tm_mday;
    return day + hours(parts.tm_hour) + minutes(parts.tm_min) + seconds(parts.tm_sec);
}

}  // namespace crab::crypto
