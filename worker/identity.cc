#include "worker/identity.h"

#include <unistd.h>

#include <array>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <random>
#include <string>

#include "base/hash.h"

namespace lockstep {

const char kVersion[] = "0.1.0";

namespace {

// Of the executable's bytes: equal for the same program, whatever it is called.
std::string BuildId() {
  std::ifstream file("/proc/self/exe", std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  return HashToHex(Hash64(bytes));
}

std::string HostName() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

}  // namespace

v1::Identity MakeIdentity(const ClusterConfig& config, const std::string& address) {
  static const std::string* const build_id = new std::string(BuildId());
  std::random_device device;
  v1::Identity identity;
  identity.set_rank(config.rank);
  identity.set_world_size(config.world_size());
  identity.set_cluster_hash(config.Hash());
  identity.set_build_id(*build_id);
  identity.set_wire_version(kWireVersion);
  identity.set_incarnation((static_cast<uint64_t>(device()) << 32) | device());
  identity.set_pid(getpid());
  identity.set_address(address);
  identity.set_hostname(HostName());
  identity.set_version(kVersion);
  return identity;
}

}  // namespace lockstep
