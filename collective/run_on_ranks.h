// Runs one function as every rank of a group, each in a thread of its own. For tests.
#ifndef LOCKSTEP_COLLECTIVE_RUN_ON_RANKS_H_
#define LOCKSTEP_COLLECTIVE_RUN_ON_RANKS_H_

#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "base/status_matchers.h"
#include "collective/communicator.h"

namespace lockstep {

// Makes a communicator of each transport and calls `function` with it. Returns when all have returned and
// the communicators are destroyed.
inline void RunOnRanks(std::vector<std::unique_ptr<Transport>> transports, const CommunicatorOptions& options,
                       const std::function<void(Communicator*)>& function) {
  std::vector<std::thread> threads;
  for (std::unique_ptr<Transport>& transport : transports) {
    threads.emplace_back([&options, &function, transport = std::move(transport)]() mutable {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Communicator> communicator,
                           Communicator::Create(std::move(transport), options));
      function(communicator.get());
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace lockstep

#endif  // LOCKSTEP_COLLECTIVE_RUN_ON_RANKS_H_
