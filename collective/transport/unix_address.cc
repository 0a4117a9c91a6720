#include "collective/transport/unix_address.h"

#include <sys/socket.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "base/abstract_address.h"
#include "base/file_descriptor.h"
#include "base/hash.h"

namespace lockstep {
namespace {

constexpr absl::string_view kScheme = "unix-abstract:";

// Invalid if nobody listens.
FileDescriptor Probe(const std::string& target) {
  const AbstractAddress address(absl::StripPrefix(target, kScheme));
  FileDescriptor probe(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (connect(probe.get(), address.get(), address.size()) != 0) probe.Reset();
  return probe;
}

}  // namespace

std::string UnixTargetOf(const std::string& address) {
  // A hash, because a socket's name has 107 bytes, and not every address is part of a URI as it is.
  return absl::StrCat(kScheme, "lockstep-", HashToHex(Hash64(address)));
}

FileDescriptor Claim(const std::string& target) {
  // A second name, because gRPC wants to bind the first one itself. Binding is what only one process can do.
  const AbstractAddress address(absl::StrCat(absl::StripPrefix(target, kScheme), ".owner"));
  FileDescriptor claim(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  // Whoever listens without a claim is no daemon.
  if (bind(claim.get(), address.get(), address.size()) != 0 || Probe(target).valid()) claim.Reset();
  return claim;
}

bool IsServed(const std::string& target, uid_t user) {
  const FileDescriptor probe = Probe(target);
  ucred owner = {};
  socklen_t size = sizeof(owner);
  return probe.valid() && getsockopt(probe.get(), SOL_SOCKET, SO_PEERCRED, &owner, &size) == 0 &&
         owner.uid == user;
}

}  // namespace lockstep
