// Measures all-reduce between ranks on this machine, in the manner of nccl-tests:
//
//   all_reduce_perf --ranks 2 --transport tcp --sizes 1K,1M,64M
//
// Each rank is a process (tcp, shm) or a thread (inprocess, simulated). For each size all ranks warm up,
// check a result whose sums are exact, agree on a number of iterations, and time them one by one; an
// iteration's time is that of the slowest rank. Columns: algbw = bytes / time, busbw = algbw * 2 (n-1) / n,
// GB = 10^9 bytes; cpu_s_per_GB = processor seconds of all ranks per GB of buffer reduced.
//
// With --emulate_bandwidth the ranks have links of a simulated network, whose clock is read; buffers that are
// too large for this machine are scaled down together with bandwidth and segments, which changes no time.
#include <grpcpp/security/server_credentials.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <functional>
#include <iostream>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "collective/communicator.h"
#include "collective/half.h"
#include "collective/transport/grpc_socket_options.h"
#include "collective/transport/grpc_transport.h"
#include "collective/transport/in_process_transport.h"
#include "collective/transport/simulated_network.h"
#include "collective/transport/striped_transport.h"

namespace lockstep {
namespace {

constexpr double kGigabyte = 1e9;
// Per size: enough iterations for a median, within this time.
constexpr absl::Duration kTimePerSize = absl::Seconds(1);
constexpr int kWarmUpIterations = 5;
constexpr int64_t kMinIterations = 10;
constexpr int64_t kMaxIterations = 2000;
constexpr absl::Duration kConnectTimeout = absl::Seconds(30);
// Buffers of all ranks of a simulated network together.
constexpr int64_t kMostSimulatedBytes = int64_t{1} << 30;

struct Flags {
  int ranks = 2;
  std::string transport = "tcp";
  std::string algorithm = "auto";
  std::vector<std::string> sizes = {"1K", "16K", "256K", "1M", "4M", "16M", "64M", "256M"};
  bool fresh = false;
  std::string congestion_control;
  std::string compression = "none";
  int connections = 1;
  int ranks_per_host = 0;  // 0: all on one
  int64_t segment_bytes = int64_t{1} << 20;
  double emulate_bandwidth = 0;   // bytes per second; 0: no simulated network
  double emulate_latency_us = 0;  // of one hop

  bool simulated() const { return emulate_bandwidth > 0; }
};

// "16K" -> 16384.
absl::StatusOr<int64_t> ParseSize(std::string text) {
  int64_t unit = 1;
  if (!text.empty()) {
    const size_t suffix = std::string("KMG").find(text.back());
    if (suffix != std::string::npos) {
      unit = int64_t{1} << (10 * (suffix + 1));
      text.pop_back();
    }
  }
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || value <= 0 || value > (int64_t{1} << 40) / unit ||
      value * unit % static_cast<int64_t>(sizeof(float)) != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--sizes: \"", text, "\" is no positive multiple of 4 bytes such as 1048576, 16K, 4M or 1G"));
  }
  return value * unit;
}

Algorithm AlgorithmOf(const std::string& name) {
  if (name == "ring") return Algorithm::kRing;
  if (name == "mesh") return Algorithm::kMesh;
  return name == "one_hop" ? Algorithm::kOneHop : Algorithm::kAuto;
}

Compression CompressionOf(const std::string& name) {
  if (name == "bf16") return Compression::kBfloat16;
  return name == "fp16" ? Compression::kFloat16 : Compression::kNone;
}

double ProcessorSeconds() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// One rank's part of the measurement.
class Benchmark {
 public:
  // `network` is null if the ranks are on a real one. On a simulated one `scale` bytes are one.
  Benchmark(const Flags& flags, Communicator* communicator, SimulatedNetwork* network, int64_t scale)
      : flags_(flags), communicator_(communicator), network_(network), scale_(scale) {}

  absl::Status Run(const std::vector<int64_t>& sizes) {
    for (int64_t bytes : sizes) {
      RETURN_IF_ERROR(Measure(bytes));
      RETURN_IF_ERROR(communicator_->Barrier());
    }
    return absl::OkStatus();
  }

 private:
  // Small integers, whose sums are exact in float; a rank that is missing or counted twice changes the sum.
  static size_t Base(size_t i) { return i * 37 % 4096; }
  static float Value(int rank, size_t i) { return static_cast<float>(Base(i) + rank); }
  // Of elements begin, begin + 1, ...
  void Sum(size_t begin, absl::Span<float> sums) const {
    const Compression compression = CompressionOf(flags_.compression);
    std::vector<float> values(sums.size());
    for (int rank = 0; rank < communicator_->world_size(); ++rank) {
      for (size_t i = 0; i < sums.size(); ++i) values[i] = Value(rank, begin + i);
      RoundInPlace(compression, absl::MakeSpan(values));
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += values[i];
    }
    RoundInPlace(compression, sums);
  }

  absl::Status Verify(absl::Span<float> values) {
    for (size_t i = 0; i < values.size(); ++i) values[i] = Value(communicator_->rank(), i);
    RETURN_IF_ERROR(communicator_->AllReduce({{}, values}));
    constexpr size_t kBlock = 4096;
    for (size_t begin = 0; begin < values.size(); begin += kBlock) {
      const absl::Span<float> block = values.subspan(begin, kBlock);
      std::vector<float> sums(block.size());
      Sum(begin, absl::MakeSpan(sums));
      for (size_t i = 0; i < block.size(); ++i) {
        if (block[i] == sums[i]) continue;
        return absl::DataLossError(absl::StrCat("rank ", communicator_->rank(), " element ", begin + i,
                                                " of ", values.size(), ": ", block[i], " instead of ",
                                                sums[i]));
      }
    }
    return absl::OkStatus();
  }

  // One after the other, as the tools of other libraries do; what waits for a rank that rewrites its buffer
  // is not part of it.
  absl::StatusOr<double> TimeOnce(absl::Span<float> values) {
    if (flags_.fresh) std::fill(values.begin(), values.end(), 1.0f);
    if (network_ != nullptr) {
      network_->Meet(communicator_->rank());
      const absl::Duration start = network_->Now();
      RETURN_IF_ERROR(communicator_->AllReduce({{}, values}));
      return absl::ToDoubleSeconds(network_->Now() - start);
    }
    if (flags_.fresh) RETURN_IF_ERROR(communicator_->Barrier());
    const absl::Time start = absl::Now();
    RETURN_IF_ERROR(communicator_->AllReduce({{}, values}));
    return absl::ToDoubleSeconds(absl::Now() - start);
  }

  // The same number on all ranks, from the sum of what they measured.
  absl::StatusOr<int64_t> AgreeOnIterations(absl::Span<float> values) {
    if (network_ != nullptr) return 1;  // every run takes the same time
    double seconds = 0;
    for (int i = 0; i < kWarmUpIterations; ++i) {
      ASSIGN_OR_RETURN(const double once, TimeOnce(values));
      if (i == kWarmUpIterations - 1) seconds = once;
    }
    RETURN_IF_ERROR(communicator_->AllReduce({absl::MakeSpan(&seconds, 1), {}}));
    const double mean = seconds / communicator_->world_size();
    return std::clamp(static_cast<int64_t>(absl::ToDoubleSeconds(kTimePerSize) / mean), kMinIterations,
                      kMaxIterations);
  }

  absl::Status Measure(int64_t bytes) {
    ASSIGN_OR_RETURN(const std::unique_ptr<CollectiveBuffer> buffer, communicator_->Allocate(bytes / scale_));
    const absl::Span<float> values = buffer->floats();
    RETURN_IF_ERROR(Verify(values));
    std::fill(values.begin(), values.end(), 0.0f);
    ASSIGN_OR_RETURN(const int64_t iterations, AgreeOnIterations(values));
    std::vector<double> seconds(iterations);
    double processor_seconds = 0;
    for (double& once : seconds) {
      const double before = ProcessorSeconds();
      ASSIGN_OR_RETURN(once, TimeOnce(values));
      processor_seconds += ProcessorSeconds() - before;
    }
    // In one process the ranks see each other's time.
    if (flags_.transport == "inprocess" || network_ != nullptr)
      processor_seconds /= communicator_->world_size();
    RETURN_IF_ERROR(communicator_->AllReduce({absl::MakeSpan(&processor_seconds, 1), {}}));
    if (network_ != nullptr) RETURN_IF_ERROR(SlowestRank(&seconds));
    if (communicator_->rank() == 0) Print(bytes, seconds, processor_seconds);
    return absl::OkStatus();
  }

  absl::Status SlowestRank(std::vector<double>* seconds) {
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     communicator_->AllGather(
                         {reinterpret_cast<const char*>(seconds->data()), seconds->size() * sizeof(double)}));
    for (const std::string& one : all) {
      for (size_t i = 0; i < seconds->size(); ++i) {
        double other = 0;
        std::memcpy(&other, one.data() + i * sizeof(double), sizeof(double));
        (*seconds)[i] = std::max((*seconds)[i], other);
      }
    }
    return absl::OkStatus();
  }

  void Print(int64_t bytes, std::vector<double> seconds, double processor_seconds) {
    std::sort(seconds.begin(), seconds.end());
    const double median = seconds[seconds.size() / 2];
    const double p99 = seconds[seconds.size() * 99 / 100];
    const int n = communicator_->world_size();
    const double algbw = static_cast<double>(bytes) / median / kGigabyte;
    const double gigabytes = static_cast<double>(bytes) * static_cast<double>(seconds.size()) / kGigabyte;
    absl::PrintF("%s\t%s\t%d\t%d\t%d\t%.1f\t%.1f\t%.1f\t%.3f\t%.3f\t%.3f\n",
                 network_ != nullptr ? "simulated" : flags_.transport, flags_.algorithm, n, bytes,
                 seconds.size(), seconds.front() * 1e6, median * 1e6, p99 * 1e6, algbw,
                 algbw * 2 * (n - 1) / n, processor_seconds / gigabytes);
    std::fflush(stdout);
  }

  const Flags& flags_;
  Communicator* const communicator_;
  SimulatedNetwork* const network_;
  const int64_t scale_;
};

// Beside the table, on stderr.
void PrintAlgorithms(const Communicator& communicator) {
  if (communicator.rank() != 0 || communicator.algorithms().empty()) return;
  std::fprintf(stderr, "# auto: %s\n", communicator.algorithms().c_str());
}

CommunicatorOptions OptionsOf(const Flags& flags, int64_t scale) {
  CommunicatorOptions options;
  options.algorithm = AlgorithmOf(flags.algorithm);
  options.compression = CompressionOf(flags.compression);
  options.segment_bytes = static_cast<size_t>(flags.segment_bytes / scale);
  return options;
}

absl::Status RunRank(const Flags& flags, const std::vector<int64_t>& sizes,
                     std::unique_ptr<Transport> transport) {
  CommunicatorOptions options = OptionsOf(flags, 1);
  if (flags.transport == "shm" || flags.ranks_per_host > 0) options.shared_memory = SharedMemoryUse::kAuto;
  for (int rank = 0; flags.ranks_per_host > 0 && rank < flags.ranks; ++rank)
    options.host_of_rank.push_back(rank / flags.ranks_per_host);
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                   Communicator::Create(std::move(transport), options));
  if (flags.transport == "shm" && communicator->medium() != "shared memory")
    return absl::FailedPreconditionError(absl::StrCat("no shared memory: ", communicator->medium()));
  PrintAlgorithms(*communicator);
  return Benchmark(flags, communicator.get(), nullptr, 1).Run(sizes);
}

// A rank of a simulated network. All sizes are scaled alike.
absl::Status RunSimulatedRank(const Flags& flags, int64_t bytes, int64_t scale,
                              std::unique_ptr<Transport> transport, SimulatedNetwork* network) {
  CommunicatorOptions options = OptionsOf(flags, scale);
  options.most_cost_measurements = 1;  // every run takes the same time
  ASSIGN_OR_RETURN(const std::unique_ptr<Communicator> communicator,
                   Communicator::Create(std::move(transport), options));
  if (scale == 1) PrintAlgorithms(*communicator);
  return Benchmark(flags, communicator.get(), network, scale).Run({bytes});
}

// A port of loopback that is free, and stays reserved while this process lives.
absl::StatusOr<int> ReservePort() {
  const int descriptor = socket(AF_INET, SOCK_STREAM, 0);
  const int on = 1;
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (descriptor < 0 || setsockopt(descriptor, SOL_SOCKET, SO_REUSEPORT, &on, sizeof(on)) != 0 ||
      bind(descriptor, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
      getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
    return absl::InternalError(absl::StrCat("no free port: ", strerror(errno)));
  }
  return ntohs(address.sin_port);
}

absl::Status RunProcess(const Flags& flags, const std::vector<int64_t>& sizes,
                        const std::vector<std::string>& addresses, int rank) {
  GrpcTransportOptions options;
  options.socket.congestion_control = flags.congestion_control;
  if (flags.transport == "unix") options.own_address = addresses[rank];
  GrpcTransportService service(options);
  grpc::ServerBuilder builder;
  service.RegisterWith(&builder);
  builder.AddListeningPort(addresses[rank], grpc::InsecureServerCredentials());
  const std::unique_ptr<grpc::Server> server = builder.BuildAndStart();
  if (server == nullptr) return absl::UnavailableError(absl::StrCat("cannot listen on ", addresses[rank]));
  service.Start();
  absl::StatusOr<std::unique_ptr<Transport>> transport =
      service.Connect({1, 0, rank, addresses, flags.connections}, absl::Now() + kConnectTimeout);
  absl::Status status = transport.status();
  if (status.ok()) status = RunRank(flags, sizes, *std::move(transport));
  transport = absl::CancelledError("done");
  server->Shutdown(absl::ToChronoTime(absl::Now() + absl::Seconds(1)));
  service.Shutdown();
  return status;
}

int Report(int rank, const absl::Status& status) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "rank %d: %s\n", rank, status.ToString().c_str());
  return 1;
}

int RunThreads(std::vector<std::unique_ptr<Transport>> group,
               const std::function<absl::Status(std::unique_ptr<Transport>)>& run) {
  std::vector<int> results(group.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < group.size(); ++rank) {
    threads.emplace_back(
        [&, rank] { results[rank] = Report(static_cast<int>(rank), run(std::move(group[rank]))); });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(results.begin(), results.end());
}

int RunSimulation(const Flags& flags, const std::vector<int64_t>& sizes) {
  for (const int64_t bytes : sizes) {
    int64_t scale = 1;
    while (bytes / scale * flags.ranks > kMostSimulatedBytes && flags.segment_bytes % (16 * scale) == 0)
      scale *= 2;
    SimulatedNetwork network(flags.ranks, {flags.emulate_bandwidth / static_cast<double>(scale),
                                           absl::Microseconds(flags.emulate_latency_us)});
    const int result = RunThreads(network.MakeGroup(), [&](std::unique_ptr<Transport> transport) {
      return RunSimulatedRank(flags, bytes, scale, std::move(transport), &network);
    });
    if (result != 0) return result;
  }
  return 0;
}

// Forks the ranks before anything of gRPC exists, and waits for them; the first failure ends the others.
int RunProcesses(const Flags& flags, const std::vector<int64_t>& sizes) {
  std::vector<std::string> addresses;
  for (int rank = 0; rank < flags.ranks; ++rank) {
    const absl::StatusOr<int> port = ReservePort();
    if (!port.ok()) return Report(rank, port.status());
    addresses.push_back(absl::StrCat("127.0.0.1:", *port));
  }
  const pid_t parent = getpid();
  std::vector<pid_t> children;
  for (int rank = 0; rank < flags.ranks; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      // No orphans, also when the parent died before this line.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      _exit(Report(rank, RunProcess(flags, sizes, addresses, rank)));
    }
    if (child < 0) {
      std::perror("fork");
      for (pid_t started : children) kill(started, SIGKILL);
      return 1;
    }
    children.push_back(child);
  }
  int result = 0;
  while (!children.empty()) {
    int wait_status = 0;
    const pid_t child = wait(&wait_status);
    children.erase(std::remove(children.begin(), children.end(), child), children.end());
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) continue;
    if (WIFSIGNALED(wait_status) && result == 0) {
      std::fprintf(stderr, "process %d was ended by signal %d\n", static_cast<int>(child),
                   WTERMSIG(wait_status));
    }
    if (result == 0) {
      // The others hear of it by themselves; this is for those that do not.
      result = 1;
      alarm(10);
      signal(SIGALRM, [](int) { _exit(1); });
    }
  }
  return result;
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Measures all-reduce between ranks on this machine. Times are those of rank 0.");
  app.add_option("--ranks", flags.ranks, "number of ranks")->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--transport", flags.transport, "tcp, unix, shm or inprocess")
      ->check(CLI::IsMember({"tcp", "unix", "shm", "inprocess"}))
      ->capture_default_str();
  app.add_option("--algorithm", flags.algorithm, "auto, ring, mesh or one_hop")
      ->check(CLI::IsMember({"auto", "ring", "mesh", "one_hop"}))
      ->capture_default_str();
  app.add_option("--sizes", flags.sizes, "bytes of the buffer, with K, M or G")
      ->delimiter(',')
      ->capture_default_str();
  app.add_flag("--fresh", flags.fresh, "rewrite the buffer before each iteration, as training does");
  app.add_option("--congestion_control", flags.congestion_control,
                 "of the TCP connections, such as reno; default: the system's");
  app.add_option("--connections", flags.connections, "between two ranks")
      ->check(CLI::Range(1, kMostLanes))
      ->capture_default_str();
  app.add_option(
         "--ranks_per_host", flags.ranks_per_host,
         "as if so many consecutive ranks were on one host, in shared memory, and the others reached by "
         "--transport; default: no hosts")
      ->check(CLI::Range(1, 64));
  app.add_option("--compression", flags.compression, "of floats: none, bf16 or fp16")
      ->check(CLI::IsMember({"none", "bf16", "fp16"}))
      ->capture_default_str();
  app.add_option("--segment_bytes", flags.segment_bytes, "largest message of the ring")
      ->capture_default_str();
  app.add_option("--emulate_bandwidth", flags.emulate_bandwidth,
                 "bytes per second of each rank's link in a simulated network; default: none is simulated")
      ->check(CLI::PositiveNumber);
  app.add_option("--emulate_latency", flags.emulate_latency_us,
                 "microseconds of a hop in a simulated network")
      ->check(CLI::NonNegativeNumber);
  CLI11_PARSE(app, argc, argv);
  if (!flags.congestion_control.empty()) {
    const absl::Status known = CheckCongestionControl(flags.congestion_control);
    if (!known.ok()) {
      std::fprintf(stderr, "%s\n", std::string(known.message()).c_str());
      return 2;
    }
  }
  std::vector<int64_t> sizes;
  for (const std::string& text : flags.sizes) {
    const absl::StatusOr<int64_t> size = ParseSize(text);
    if (!size.ok()) {
      std::fprintf(stderr, "%s\n", std::string(size.status().message()).c_str());
      return 2;
    }
    sizes.push_back(*size);
  }
  std::printf(
      "transport\talgorithm\tranks\tbytes\titerations\tmin_us\tp50_us\tp99_us\talgbw_GBs\tbusbw_GBs\tcpu_s_"
      "per_GB\n");
  std::fflush(stdout);
  if (flags.simulated()) return RunSimulation(flags, sizes);
  if (flags.transport != "inprocess") return RunProcesses(flags, sizes);
  return RunThreads(MakeInProcessGroup(flags.ranks), [&](std::unique_ptr<Transport> transport) {
    return RunRank(flags, sizes, std::move(transport));
  });
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (const absl::Status status = lockstep::InitProcess(argv[0]); !status.ok()) {
    std::cerr << "all_reduce_perf: " << status.message() << "\n";
    return 2;
  }
  return lockstep::Main(argc, argv);
}
