#include "worker/host_port.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/quoted.h"
#include "base/status_macros.h"

namespace lockstep {
namespace {

absl::Status Wrong(absl::string_view what) { return absl::InvalidArgumentError(what); }

absl::StatusOr<int> ParsePort(absl::string_view text) {
  if (text.empty()) return Wrong("has no port: write host:port");
  if (!std::all_of(text.begin(), text.end(), absl::ascii_isdigit) || (text.size() > 1 && text[0] == '0')) {
    return Wrong(absl::StrCat("has a port that is not a number: ", Quoted(text)));
  }
  int port = 0;
  if (!absl::SimpleAtoi(text, &port) || port < 1 || port > 65535) {
    return Wrong(absl::StrCat("has the port ", text.substr(0, 20), ", which is not between 1 and 65535"));
  }
  return port;
}

absl::StatusOr<std::string> ParseIpv6(absl::string_view text) {
  in6_addr address;
  if (inet_pton(AF_INET6, std::string(text).c_str(), &address) != 1) {
    return Wrong(absl::StrCat("has no IPv6 address between its brackets: ", Quoted(text)));
  }
  if (IN6_IS_ADDR_UNSPECIFIED(&address)) return Wrong("has the host [::], which no other host can reach");
  char shortest[INET6_ADDRSTRLEN];
  return std::string(inet_ntop(AF_INET6, &address, shortest, sizeof(shortest)));
}

absl::StatusOr<std::string> ParseIpv4(absl::string_view text) {
  in_addr address;
  const std::string host(text);
  if (inet_pton(AF_INET, host.c_str(), &address) != 1) {
    return Wrong(absl::StrCat("has a host that is neither a name nor an IPv4 address: ", Quoted(text)));
  }
  if (address.s_addr == INADDR_ANY) return Wrong("has the host 0.0.0.0, which no other host can reach");
  return host;
}

absl::StatusOr<std::string> ParseName(absl::string_view text) {
  constexpr size_t kLongestName = 253, kLongestLabel = 63;  // RFC 1035, 2.3.4
  const absl::string_view name = absl::StripSuffix(text, ".");
  if (name.size() > kLongestName) return Wrong("has a host name of more than 253 characters");
  for (absl::string_view label : absl::StrSplit(name, '.')) {
    // An underscore is not in the standard, but container networks use it.
    const bool legal = std::all_of(label.begin(), label.end(),
                                   [](char c) { return absl::ascii_isalnum(c) || c == '-' || c == '_'; });
    if (!legal || label.empty() || label.size() > kLongestLabel || label.front() == '-') {
      return Wrong(absl::StrCat("has a host that is not a host name: ", Quoted(text)));
    }
  }
  return absl::AsciiStrToLower(name);
}

absl::StatusOr<std::string> ParseHost(absl::string_view text) {
  if (text.empty()) return Wrong("has no host: write host:port");
  const bool digits_and_dots =
      std::all_of(text.begin(), text.end(), [](char c) { return absl::ascii_isdigit(c) || c == '.'; });
  return digits_and_dots ? ParseIpv4(text) : ParseName(text);
}

// Mistakes that deserve a word of their own.
absl::Status CheckForm(absl::string_view address) {
  if (address.empty()) return Wrong("is empty: write host:port");
  if (absl::StripAsciiWhitespace(address) != address) return Wrong("has a blank at its beginning or end");
  for (char c : address) {
    if (absl::ascii_iscntrl(c) || c == ' ') return Wrong("has a blank or control character in it");
  }
  if (absl::StrContains(address, "://")) return Wrong("has a scheme: write only host:port");
  return absl::OkStatus();
}

}  // namespace

std::string HostPort::ToString() const {
  if (absl::StrContains(host, ":")) return absl::StrCat("[", host, "]:", port);
  return absl::StrCat(host, ":", port);
}

absl::StatusOr<HostPort> ParseHostPort(absl::string_view address) {
  RETURN_IF_ERROR(CheckForm(address));
  HostPort result;
  if (address[0] == '[') {
    const size_t close = address.find("]:");
    if (close == absl::string_view::npos) return Wrong("has no ]:port at its end: write [IPv6]:port");
    ASSIGN_OR_RETURN(result.host, ParseIpv6(address.substr(1, close - 1)));
    ASSIGN_OR_RETURN(result.port, ParsePort(address.substr(close + 2)));
    return result;
  }
  const size_t colon = address.find(':');
  if (colon == absl::string_view::npos) return Wrong("has no port: write host:port");
  if (address.rfind(':') != colon) return Wrong("has several colons: write host:port or [IPv6]:port");
  ASSIGN_OR_RETURN(result.host, ParseHost(address.substr(0, colon)));
  ASSIGN_OR_RETURN(result.port, ParsePort(address.substr(colon + 1)));
  return result;
}

}  // namespace lockstep
