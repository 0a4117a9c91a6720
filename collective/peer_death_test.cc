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
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "base/logging.h"
#include "base/status_macros.h"
#include "base/status_matchers.h"
#include "collective/communicator.h"
#include "collective/peer_lost.h"
#include "collective/transport/grpc_transport.h"

namespace lockstep {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr size_t kElements = 1 << 20;  // 4 MiB: an all-reduce takes its part of each round
constexpr absl::Duration kPatience = absl::Seconds(40);
constexpr int kRoundsAfterFailure = 30;

// What a rank is told on its command line.
struct RankOptions {
  int rank = 0;
  int64_t generation = 0;
  std::vector<std::string> addresses;
  absl::Duration timeout;
  bool shared_memory = false;
  // Once the group has failed: those of the next generation. Empty: the rank ends.
  std::vector<std::string> next_addresses;

  std::vector<std::string> Arguments() const {
    return {"--rank",
            absl::StrCat(rank),
            absl::StrCat(generation),
            absl::StrJoin(addresses, ","),
            absl::StrCat(absl::ToDoubleSeconds(timeout)),
            absl::StrCat(shared_memory ? 1 : 0),
            absl::StrJoin(next_addresses, ",")};
  }
  static RankOptions Parse(char** argv) {
    RankOptions options;
    double seconds = 0;
    int shared = 0;
    CHECK(absl::SimpleAtoi(argv[2], &options.rank) && absl::SimpleAtoi(argv[3], &options.generation) &&
          absl::SimpleAtod(argv[5], &seconds) && absl::SimpleAtoi(argv[6], &shared));
    options.addresses = absl::StrSplit(argv[4], ',');
    options.timeout = absl::Seconds(seconds);
    options.shared_memory = shared == 1;
    options.next_addresses = absl::StrSplit(argv[7], ',', absl::SkipEmpty());
    return options;
  }
};

class RankProcess {
 public:
  explicit RankProcess(const RankOptions& options) : options_(options) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options.addresses[options.rank], grpc::InsecureServerCredentials());
    service_.RegisterWith(&builder);
    server_ = builder.BuildAndStart();
    CHECK(server_ != nullptr);
    service_.Start();
  }
  ~RankProcess() {
    server_->Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
    service_.Shutdown();
  }

  // Generation 0 is reduced until it fails, a later one as often as it takes for a frozen rank to wake.
  void Run() {
    if (options_.generation == 0) {
      const absl::Status status = Reduce(options_.addresses, 0, std::numeric_limits<int>::max());
      Say(absl::StrCat("lost=", LostRank(status).value_or(-1), " ", status.ToString()));
      if (options_.next_addresses.empty()) return;
      options_.addresses = options_.next_addresses;
      options_.generation = 1;
    }
    const absl::Status status = Reduce(options_.addresses, options_.generation, kRoundsAfterFailure);
    Say(absl::StrCat("end=", status.ToString()));
  }

 private:
  static void Say(const std::string& line) {
    std::puts(line.c_str());
    std::fflush(stdout);
  }

  absl::Status Reduce(const std::vector<std::string>& addresses, int64_t generation, int rounds) {
    ASSIGN_OR_RETURN(std::unique_ptr<Transport> transport,
                     service_.Connect({1, generation, options_.rank, addresses}, absl::Now() + kPatience));
    CommunicatorOptions communication;
    communication.timeout = options_.timeout;
    if (options_.shared_memory) communication.shared_memory = SharedMemoryUse::kAuto;
    ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                     Communicator::Create(std::move(transport), communication));
    CHECK_EQ(communicator->medium() == "shared memory", options_.shared_memory) << communicator->medium();
    ASSIGN_OR_RETURN(const std::unique_ptr<CollectiveBuffer> buffer,
                     communicator->Allocate(kElements * sizeof(float)));
    for (int round = 0; round < rounds; ++round) {
      RETURN_IF_ERROR(ReduceOnce(communicator.get(), round, buffer->floats()));
      Say(absl::StrCat("reduced in generation ", generation));
    }
    return absl::OkStatus();
  }

  absl::Status ReduceOnce(Communicator* communicator, int round, absl::Span<float> values) {
    const auto value = [round](int rank, size_t i) {
      return static_cast<float>((i + 7 * round + 1000 * rank) % 65536);
    };
    for (size_t i = 0; i < values.size(); ++i) values[i] = value(options_.rank, i);
    RETURN_IF_ERROR(communicator->AllReduce({{}, values}));
    for (size_t i = 0; i < values.size(); ++i) {
      float sum = 0;
      for (int rank = 0; rank < communicator->world_size(); ++rank) sum += value(rank, i);
      if (values[i] != sum) return absl::DataLossError(absl::StrCat("element ", i, " is ", values[i]));
    }
    return absl::OkStatus();
  }

  RankOptions options_;
  GrpcTransportService service_;
  std::unique_ptr<grpc::Server> server_;
};

int RankMain(char** argv) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  RankProcess(RankOptions::Parse(argv)).Run();
  return 0;
}

// The parameter: whether the ranks share memory.
class PeerDeathTest : public ::testing::TestWithParam<bool> {
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

  // Starts the ranks and waits until all have reduced something. With `regroup`, survivors go on in another
  // generation with a new rank 1.
  void Start(int world_size, double timeout_seconds, bool regroup = false) {
    for (int rank = 0; rank < world_size; ++rank) addresses_.push_back(ReserveAddress());
    RankOptions options;
    options.addresses = addresses_;
    options.timeout = absl::Seconds(timeout_seconds);
    options.shared_memory = GetParam();
    if (regroup) {
      next_addresses_ = addresses_;
      next_addresses_[1] = ReserveAddress();
      options.next_addresses = next_addresses_;
    }
    for (options.rank = 0; options.rank < world_size; ++options.rank) ranks_.push_back(StartRank(options));
    for (Rank& rank : ranks_) ASSERT_TRUE(ReadUntil(&rank, "reduced in generation 0\n")) << rank.text;
  }

  // Starts the new rank 1.
  void StartSuccessor() {
    RankOptions options;
    options.rank = 1;
    options.generation = 1;
    options.addresses = next_addresses_;
    options.timeout = kPatience;
    options.shared_memory = GetParam();
    ranks_.push_back(StartRank(options));
  }

  // What the rank says in the end: the line that begins so.
  std::string LastWords(int rank, const std::string& begin = "lost=") {
    EXPECT_TRUE(ReadUntil(&ranks_[rank], begin)) << "rank " << rank << " did not end";
    const std::string& text = ranks_[rank].text;
    const size_t at = text.rfind(begin);
    if (text.find('\n', at) == std::string::npos) {
      EXPECT_TRUE(ReadUntil(&ranks_[rank], "\n")) << "rank " << rank << " did not end";
    }
    return text.substr(at, text.find('\n', at) - at);
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

  std::vector<Rank> ranks_;
  std::vector<std::string> addresses_, next_addresses_;

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

  static Rank StartRank(const RankOptions& options) {
    int ends[2];
    EXPECT_EQ(pipe(ends), 0);
    std::vector<std::string> arguments = options.Arguments();
    arguments.insert(arguments.begin(), "peer_death_test");
    std::vector<char*> argv;
    for (std::string& argument : arguments) argv.push_back(argument.data());
    argv.push_back(nullptr);
    const pid_t process = fork();
    if (process == 0) {
      dup2(ends[1], STDOUT_FILENO);
      close(ends[0]);
      close(ends[1]);
      execv("/proc/self/exe", argv.data());
      _exit(127);
    }
    close(ends[1]);
    return {process, ends[0], ""};
  }

  std::vector<int> ports_;
};

INSTANTIATE_TEST_SUITE_P(All, PeerDeathTest, ::testing::Bool(),
                         [](const ::testing::TestParamInfo<bool>& info) {
                           return info.param ? "SharedMemory" : "Messages";
                         });

TEST_P(PeerDeathTest, SurvivorsOfAKilledRankNameIt) {
  Start(3, /*timeout_seconds=*/600);
  kill(ranks_[1].process, SIGKILL);
  for (int survivor : {0, 2}) {
    const std::string words = LastWords(survivor);
    EXPECT_THAT(words, HasSubstr("lost=1 UNAVAILABLE: rank 1 (" + addresses_[1] + ") lost"));
  }
}

TEST_P(PeerDeathTest, TheSurvivorOfAFrozenRankNamesItWhenTheTimeoutIsOver) {
  Start(2, /*timeout_seconds=*/1);
  kill(ranks_[1].process, SIGSTOP);
  EXPECT_THAT(LastWords(0), HasSubstr("lost=1 DEADLINE_EXCEEDED"));
}

// Every rank waits for the one before it; who is behind all of it, the rank after the frozen one knows best.
TEST_P(PeerDeathTest, AllSurvivorsOfAFrozenRankEnd) {
  Start(3, /*timeout_seconds=*/1);
  kill(ranks_[1].process, SIGSTOP);
  for (int survivor : {0, 2}) EXPECT_THAT(LastWords(survivor), HasSubstr("DEADLINE_EXCEEDED"));
}

// What a frozen rank still stores when it wakes goes where nobody looks any more.
TEST_P(PeerDeathTest, AFrozenRankThatWakesDoesNotDisturbTheNextGeneration) {
  Start(2, /*timeout_seconds=*/1, /*regroup=*/true);
  kill(ranks_[1].process, SIGSTOP);
  EXPECT_THAT(LastWords(0), HasSubstr("lost=1 DEADLINE_EXCEEDED"));
  StartSuccessor();
  ASSERT_TRUE(ReadUntil(&ranks_[0], "reduced in generation 1\n")) << ranks_[0].text;
  kill(ranks_[1].process, SIGCONT);
  EXPECT_EQ(LastWords(0, "end="), "end=OK");
  EXPECT_EQ(LastWords(2, "end="), "end=OK");
  EXPECT_THAT(LastWords(1), Not(HasSubstr("OK")));
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (argc == 8 && std::string(argv[1]) == "--rank") return lockstep::RankMain(argv);
  ::testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
