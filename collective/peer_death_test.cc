// Real processes: one rank is killed or frozen in the middle of all-reduces, and the others must end with an
// error that names it. The test starts itself again as each rank.
#include <arpa/inet.h>
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "collective/communicator.h"
#include "collective/peer_lost.h"
#include "collective/transport/grpc_transport.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;

constexpr size_t kElements = 4 << 20;  // 16 MiB: a kill at any time hits an all-reduce
constexpr absl::Duration kPatience = absl::Seconds(40);

// The rank's part: reduces until something fails, and reports on standard output.
absl::Status ReduceUntilItFails(int rank, const std::vector<std::string>& addresses, absl::Duration timeout) {
  GrpcTransportService service;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(addresses[rank], grpc::InsecureServerCredentials());
  service.RegisterWith(&builder);
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::InternalError("no server");
  service.Start();
  absl::Status status;
  {
    ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport,
                     service.Connect({1, 0, rank, addresses}, absl::Now() + kPatience));
    CommunicatorOptions options;
    options.timeout = timeout;
    ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                     Communicator::Create(std::move(transport), options));
    std::vector<float> values(kElements);
    while (status.ok()) {
      status = communicator->AllReduce({{}, absl::MakeSpan(values)});
      if (status.ok()) std::puts("reduced");
      std::fflush(stdout);
    }
  }
  server->Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  service.Shutdown();
  return status;
}

int RankMain(char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  int rank = 0;
  double timeout_seconds = 0;
  if (!absl::SimpleAtoi(argv[2], &rank) || !absl::SimpleAtod(argv[4], &timeout_seconds)) return 2;
  const std::vector<std::string> addresses = absl::StrSplit(argv[3], ',');
  const absl::Status status = ReduceUntilItFails(rank, addresses, absl::Seconds(timeout_seconds));
  std::printf("lost=%d %s\n", LostRank(status).value_or(-1), status.ToString().c_str());
  return 0;
}

class PeerDeathTest : public ::testing::Test {
 protected:
  struct Rank {
    pid_t process = 0;
    int output = -1;
    std::string text;
  };

  ~PeerDeathTest() override {
    for (const Rank& rank : ranks_) {
      kill(rank.process, SIGKILL);
      waitpid(rank.process, nullptr, 0);
      close(rank.output);
    }
    for (int descriptor : ports_) close(descriptor);
  }

  // Starts the ranks and waits until all have reduced something.
  void Start(int world_size, double timeout_seconds) {
    std::vector<std::string> addresses;
    for (int rank = 0; rank < world_size; ++rank) addresses.push_back(ReserveAddress());
    for (int rank = 0; rank < world_size; ++rank) {
      ranks_.push_back(StartRank(rank, absl::StrJoin(addresses, ","), absl::StrCat(timeout_seconds)));
    }
    addresses_ = addresses;
    for (Rank& rank : ranks_) ASSERT_TRUE(ReadUntil(&rank, "reduced\n")) << rank.text;
  }

  // What the rank says in the end.
  std::string LastWords(int rank) {
    EXPECT_TRUE(ReadUntil(&ranks_[rank], "lost=")) << "rank " << rank << " did not end";
    EXPECT_TRUE(ReadUntil(&ranks_[rank], "\n")) << "rank " << rank << " did not end";
    const std::string& text = ranks_[rank].text;
    return text.substr(text.rfind("lost="));
  }

  std::vector<Rank> ranks_;
  std::vector<std::string> addresses_;

 private:
  // Reserved by a socket that does not listen; the rank's server shares the port.
  std::string ReserveAddress() {
    const int descriptor = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const int on = 1;
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on));
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(bind(descriptor, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size), 0);
    ports_.push_back(descriptor);
    return absl::StrCat("127.0.0.1:", ntohs(address.sin_port));
  }

  static Rank StartRank(int index, const std::string& addresses, const std::string& timeout) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    const std::string number = absl::StrCat(index);
    const pid_t process = fork();
    if (process == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execl("/proc/self/exe", "peer_death_test", "--rank", number.c_str(), addresses.c_str(), timeout.c_str(),
            nullptr);
      _exit(127);
    }
    close(ends[1]);
    return {process, ends[0], ""};
  }

  // Reads the rank's output until it contains `what` after everything seen before.
  static bool ReadUntil(Rank* rank, const std::string& what) {
    const size_t seen = rank->text.size();
    const absl::Time end = absl::Now() + kPatience;
    while (rank->text.find(what, seen > what.size() ? seen - what.size() : 0) == std::string::npos) {
      pollfd descriptor = {rank->output, POLLIN, 0};
      const int left = static_cast<int>(absl::ToInt64Milliseconds(end - absl::Now()));
      if (left <= 0 || poll(&descriptor, 1, left) <= 0) return false;
      char buffer[4096];
      const ssize_t count = read(rank->output, buffer, sizeof(buffer));
      if (count <= 0) return false;
      rank->text.append(buffer, static_cast<size_t>(count));
    }
    return true;
  }

  std::vector<int> ports_;
};

TEST_F(PeerDeathTest, SurvivorsOfAKilledRankNameIt) {
  Start(3, /*timeout_seconds=*/600);
  kill(ranks_[1].process, SIGKILL);
  for (int survivor : {0, 2}) {
    const std::string words = LastWords(survivor);
    EXPECT_THAT(words, HasSubstr("lost=1 UNAVAILABLE: rank 1 (" + addresses_[1] + ") lost"));
  }
}

TEST_F(PeerDeathTest, TheSurvivorOfAFrozenRankNamesItWhenTheTimeoutIsOver) {
  Start(2, /*timeout_seconds=*/1);
  kill(ranks_[1].process, SIGSTOP);
  EXPECT_THAT(LastWords(0), HasSubstr("lost=1 DEADLINE_EXCEEDED"));
}

// Every rank waits for the one before it; who is behind all of it, the rank after the frozen one knows best.
TEST_F(PeerDeathTest, AllSurvivorsOfAFrozenRankEnd) {
  Start(3, /*timeout_seconds=*/1);
  kill(ranks_[1].process, SIGSTOP);
  for (int survivor : {0, 2}) EXPECT_THAT(LastWords(survivor), HasSubstr("DEADLINE_EXCEEDED"));
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "--rank") return lockstep::RankMain(argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
