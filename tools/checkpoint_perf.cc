// Measures what checkpoints cost training, on daemons of this machine:
//
//   checkpoint_perf --workers 2 --every_steps 20 --rounds 5
//
// Each round trains a model of dense layers (1024-4096-4096-1000: 300 MB of parameters and slots of adam)
// twice, without and with checkpoints, and reads the throughput between the ends of the first and the last
// epoch. An epoch's end comes before its checkpoint, so as many checkpoints as epochs are in between, each
// with its full price. Both runs must end with the same bits, and the newest checkpoint must hold them.
//
// Columns: rows/s without and with; cost in percent; per checkpoint the milliseconds that training stood
// still and that its files took to be written in the background, and its MB (10^6). The last line has the
// medians.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/time.h"
#include "base/file_utilities.h"
#include "base/process.h"
#include "base/status_macros.h"
#include "proto/checkpoint.pb.h"
#include "proto/job.pb.h"
#include "proto/trainer.pb.h"
#include "tools/job_follower.h"
#include "tools/local_cluster.h"
#include "tools/temporary_directory.h"
#include "tools/trainer_client.h"
#include "worker/checkpoint_store.h"
#include "worker/job_file.h"

namespace lockstep {
namespace {

constexpr absl::Duration kConnectTimeout = absl::Seconds(10);
constexpr double kMegabyte = 1e6;

struct Flags {
  int workers = 2;
  int rows = 128;  // of each rank in a step
  int units = 4096;
  int every_steps = 20;
  int steps_per_epoch = 60;
  int epochs = 3;
  int rounds = 3;
  std::string directory;  // empty: a temporary one
  std::string lockstepd;  // empty: FindLockstepd()
};

// One line of the table.
struct Costs {
  double rows_per_second_without = 0, rows_per_second_with = 0;
  double percent = 0;
  double stall_ms = 0, write_ms = 0, megabytes = 0;  // of one checkpoint
};

struct Run {
  v1::JobSummary summary;
  double rows_per_second = 0;
};

absl::StatusOr<v1::JobSpec> MakeJob(const Flags& flags) {
  return ParseJob(
      absl::StrFormat(R"(
        model { input { shape: 1024 }
                layers { dense { units: %d activation: RELU } } layers { dense { units: %d activation: RELU } }
                layers { dense { units: 1000 } } }
        compile { loss { sparse_categorical_crossentropy { from_logits: true } } optimizer { adam {} } }
        data { train { synthetic { rows: %d feature_shape: 1024 classes: 1000 } } }
        fit { epochs: %d per_worker_batch_size: %d seed: 1 })",
                      flags.units, flags.units, flags.workers * flags.rows * flags.steps_per_epoch,
                      flags.epochs, flags.rows),
      "checkpoint_perf");
}

class Benchmark {
 public:
  Benchmark(const Flags& flags, std::string directory) : flags_(flags), directory_(std::move(directory)) {}

  absl::Status RunRounds() {
    RETURN_IF_ERROR(StartCluster());
    std::printf("round\trows_per_s_without\trows_per_s_with\tcost_percent\tstall_ms\twrite_ms\tMB\n");
    std::vector<Costs> rounds;
    for (int round = 1; round <= flags_.rounds; ++round) {
      ASSIGN_OR_RETURN(const Costs costs, RunRound(round));
      Print(absl::StrCat(round), costs);
      rounds.push_back(costs);
    }
    Print("median", Medians(rounds));
    return absl::OkStatus();
  }

 private:
  absl::Status StartCluster() {
    LocalCluster::Options options;
    options.workers = flags_.workers;
    options.lockstepd = flags_.lockstepd;
    if (options.lockstepd.empty()) {
      ASSIGN_OR_RETURN(options.lockstepd, FindLockstepd());
    }
    options.flags = {absl::StrCat("--output_root=", directory_)};
    options.log_directory = directory_;
    ASSIGN_OR_RETURN(cluster_, LocalCluster::Start(options));
    ASSIGN_OR_RETURN(client_, TrainerClient::Create(cluster_->address(0), kConnectTimeout));
    return absl::OkStatus();
  }

  // Which of the two runs comes first changes from round to round.
  absl::StatusOr<Costs> RunRound(int round) {
    ASSIGN_OR_RETURN(const v1::JobSpec without, MakeJob(flags_));
    v1::JobSpec with = without;
    with.mutable_checkpoint()->set_directory(absl::StrCat("round-", round));
    with.mutable_checkpoint()->set_every_steps(flags_.every_steps);
    const bool with_first = round % 2 == 0;
    ASSIGN_OR_RETURN(const Run first, Train(with_first ? with : without));
    ASSIGN_OR_RETURN(const Run second, Train(with_first ? without : with));
    ASSIGN_OR_RETURN(const double megabytes,
                     CheckSaved(absl::StrCat(directory_, "/", with.checkpoint().directory()), first, second));
    const Run& saving = with_first ? first : second;
    Costs costs;
    costs.rows_per_second_without = with_first ? second.rows_per_second : first.rows_per_second;
    costs.rows_per_second_with = saving.rows_per_second;
    costs.percent = 100 * (1 - costs.rows_per_second_with / costs.rows_per_second_without);
    const double checkpoints = std::max(1, saving.summary.checkpoints());
    costs.stall_ms = 1e3 * saving.summary.checkpoint_stall_seconds() / checkpoints;
    costs.write_ms = 1e3 * saving.summary.checkpoint_write_seconds() / checkpoints;
    costs.megabytes = megabytes;
    return costs;
  }

  absl::StatusOr<Run> Train(const v1::JobSpec& spec) {
    ASSIGN_OR_RETURN(const v1::SubmitResponse submitted,
                     client_->Submit(spec, absl::StrCat("checkpoint-perf-", ++jobs_)));
    std::vector<int64_t> ends_ms;
    JobFollower follower({kConnectTimeout, [this] { return cluster_->CheckRunning(); }});
    RETURN_IF_ERROR(follower.Follow(client_.get(), submitted.job_id(), [&](const v1::JobEvent& event) {
      if (event.has_epoch_end()) ends_ms.push_back(event.unix_ms());
    }));
    if (follower.summary().state() != v1::SUCCEEDED)
      return absl::InternalError(absl::StrCat("the job ended: ", follower.summary().error()));
    const int64_t steps = static_cast<int64_t>(flags_.steps_per_epoch) * (flags_.epochs - 1);
    const double seconds = static_cast<double>(ends_ms.back() - ends_ms.front()) * 1e-3;
    return Run{follower.summary(), static_cast<double>(steps * flags_.rows * flags_.workers) / seconds};
  }

  // Returns the size of the newest checkpoint, and removes them all.
  absl::StatusOr<double> CheckSaved(const std::string& path, const Run& first, const Run& second) {
    std::vector<std::string> damaged;
    ASSIGN_OR_RETURN(const LoadedCheckpoint newest,
                     CheckpointStore::LoadNewestOf(FileSystem::Posix(), path, &damaged));
    const v1::CheckpointManifest& manifest = newest.manifest();
    if (!damaged.empty() || manifest.parameter_hash() != first.summary.parameter_hash() ||
        first.summary.parameter_hash() != second.summary.parameter_hash()) {
      return absl::DataLossError(absl::StrCat("the parameters are ", manifest.parameter_hash(),
                                              " in the checkpoint, ", first.summary.parameter_hash(), " and ",
                                              second.summary.parameter_hash(), " after training"));
    }
    double bytes = 0;
    for (const v1::CheckpointManifest::File& file : manifest.files())
      bytes += static_cast<double>(file.bytes());
    RETURN_IF_ERROR(RemoveRecursively(FileSystem::Posix(), path));
    return bytes / kMegabyte;
  }

  static Costs Medians(const std::vector<Costs>& rounds) {
    Costs medians;
    for (double Costs::*column : {&Costs::rows_per_second_without, &Costs::rows_per_second_with,
                                  &Costs::percent, &Costs::stall_ms, &Costs::write_ms, &Costs::megabytes}) {
      std::vector<double> values;
      for (const Costs& round : rounds) values.push_back(round.*column);
      std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
      medians.*column = values[values.size() / 2];
    }
    return medians;
  }

  static void Print(const std::string& round, const Costs& costs) {
    absl::PrintF("%s\t%.1f\t%.1f\t%.2f\t%.1f\t%.0f\t%.1f\n", round, costs.rows_per_second_without,
                 costs.rows_per_second_with, costs.percent, costs.stall_ms, costs.write_ms, costs.megabytes);
    std::fflush(stdout);
  }

  const Flags flags_;
  const std::string directory_;
  std::unique_ptr<LocalCluster> cluster_;
  std::unique_ptr<TrainerClient> client_;
  int jobs_ = 0;
};

absl::Status RunIn(const Flags& flags) {
  if (!flags.directory.empty()) {
    RETURN_IF_ERROR(CreateDirectories(FileSystem::Posix(), flags.directory));
    return Benchmark(flags, flags.directory).RunRounds();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<TemporaryDirectory> temporary, TemporaryDirectory::Create());
  return Benchmark(flags, temporary->path()).RunRounds();
}

int Main(int argc, char** argv) {
  Flags flags;
  CLI::App app("Measures what checkpoints cost training, on daemons of this machine.");
  app.add_option("--workers", flags.workers)->check(CLI::Range(1, 64))->capture_default_str();
  app.add_option("--rows", flags.rows, "of each rank in a step")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--units", flags.units, "of the two hidden layers")
      ->check(CLI::Range(1, 65536))
      ->capture_default_str();
  app.add_option("--every_steps", flags.every_steps, "between checkpoints; a divisor of --steps_per_epoch")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--steps_per_epoch", flags.steps_per_epoch)
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app.add_option("--epochs", flags.epochs, "the first one is not measured")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  app.add_option("--rounds", flags.rounds)->check(CLI::Range(1, 1000))->capture_default_str();
  app.add_option(
      "--directory", flags.directory,
      "for checkpoints and logs, on the file system to be measured; default: a temporary one, removed "
      "afterwards");
  app.add_option("--lockstepd", flags.lockstepd,
                 "the daemon's program; default: beside this one, or in PATH");
  CLI11_PARSE(app, argc, argv);
  const absl::Status status = RunIn(flags);
  if (status.ok()) return 0;
  std::fprintf(stderr, "checkpoint_perf: %s\n", std::string(status.message()).c_str());
  return 1;
}

}  // namespace
}  // namespace lockstep

int main(int argc, char** argv) {
  if (const absl::Status status = lockstep::InitProcess(argv[0]); !status.ok()) {
    std::cerr << "checkpoint_perf: " << status.message() << "\n";
    return 2;
  }
  return lockstep::Main(argc, argv);
}
