// The address of a unix-domain socket with an abstract name: nothing in the file system, gone with the
// process that holds it, seen within one network namespace only.
#ifndef LOCKSTEP_BASE_ABSTRACT_ADDRESS_H_
#define LOCKSTEP_BASE_ABSTRACT_ADDRESS_H_

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "absl/strings/string_view.h"

namespace lockstep {

class AbstractAddress {
 public:
  // Of a longer name the first 107 bytes.
  explicit AbstractAddress(absl::string_view name) {
    // It begins with a zero byte and ends with the length.
    address_.sun_family = AF_UNIX;
    const size_t size = std::min(name.size(), sizeof(address_.sun_path) - 1);
    std::memcpy(address_.sun_path + 1, name.data(), size);
    size_ = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + size);
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t size() const { return size_; }

 private:
  sockaddr_un address_ = {};
  socklen_t size_ = 0;
};

}  // namespace lockstep

#endif  // LOCKSTEP_BASE_ABSTRACT_ADDRESS_H_
